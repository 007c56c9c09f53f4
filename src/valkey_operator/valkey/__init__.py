"""What is known about Valkey itself, without I/O: values and text in, values and text out.

Belongs here: parsers of INFO and CLUSTER replies, slot arithmetic, valkey.conf and ACL text, what a version can do.
Must not be here: sockets, clocks, Kubernetes, decisions about a deployment. Imports only api.
"""
