"""From specs to the manifests of what shall exist: pure functions, one module per sort of object.

Belongs here: what an object looks like. Does not belong here: whether it may be made now (plans), and making it.
"""
