"""Two daemons that give the testbed what Kubernetes leaves to others: enforced network policies and storage.

Theory of operation: each daemon mirrors a few collections of the API server (mirror.py), and after every change decides
from the whole picture what is missing in the kernel and does just that (loop.py). Nothing is remembered across a
restart, so a daemon may be killed at any line.

    policy:   selectors -> policy (who may reach a pod) -> ruleset (as nftables text) -> enforcer (applies it)
    storage:  quantity -> claims (what is to do) -> volumes (disks of this machine) -> provisioner (does it)

Only the Python standard library may be imported here: the testbed runs before any virtual environment exists.
"""
