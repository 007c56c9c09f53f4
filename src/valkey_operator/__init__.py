"""A Valkey operator for Kubernetes: one package, three programs (operator, agent, web UI), one image.

Imports point one way, and `lint-imports` holds it: cli > controllers, web, webhook > runtime, kube, pki > core >
valkey > api; agent knows only api, valkey and proto. What happens in which file: docs/architecture.md.
"""
