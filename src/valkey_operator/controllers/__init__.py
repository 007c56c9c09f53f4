"""The imperative shell around core: for each kind, observe facts, have them planned, act, report.

Belongs here: gathering facts from caches and agents, carrying out the steps of a plan under deadlines.
Must not be here: a decision. An `if` about a cluster's state belongs in core/decide, where a table test reaches it.
"""
