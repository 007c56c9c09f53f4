"""Certificates between operator, agents and servers: authority, bundles, rotation.

Belongs here: making and renewing keys and certificates, and what a peer's name must be.
Must not be here: the decision when a pod restarts for it (core/decide), or the writing of Secrets (controllers).
"""
