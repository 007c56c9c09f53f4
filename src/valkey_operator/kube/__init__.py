"""The only door to the Kubernetes API server.

Belongs here: connection and credentials, requests, caches (list and watch), server-side apply, events, leases.
Must not be here: what the objects mean. Nothing outside this folder imports lightkube or its HTTP client.
"""
