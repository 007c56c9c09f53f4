"""Desired Kubernetes objects from a spec and facts: `desired = render(spec, facts)`.

Belongs here: one module per sort of object, each byte-stable and pinned by golden files.
Must not be here: comparing with what exists, or sending it; that is decide/ and controllers.
"""
