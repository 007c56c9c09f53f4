"""Admission of custom resources: the checks that need more than the object itself.

Belongs here: the HTTPS server that the API server calls, cross-object rules.
Must not be here: a rule that the CRD's schema or CEL can state; those hold while the operator is down.
"""
