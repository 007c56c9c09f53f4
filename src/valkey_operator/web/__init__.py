"""The server of the web UI: a client of the Kubernetes API like any other, read-only unless told otherwise.

Belongs here: the UI's HTTP endpoints and the stream of changes to the browser.
Must not be here: a second source of truth, or a power that the signed-in user's own RBAC does not give.
"""
