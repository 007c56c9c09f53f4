"""A Valkey operator for Kubernetes: one package, three programs (operator, agent, web UI), one image.

Imports point one way, and `lint-imports` holds it: cli > controllers, web, webhook > runtime, kube, pki > core >
valkey > api; agent knows only api, valkey, proto and wire. What happens in which file: docs/architecture.md.
"""

# Also in pyproject.toml, and a test compares them: reading package metadata would cost every agent 3 MiB.
VERSION = "0.1.0.dev0"
