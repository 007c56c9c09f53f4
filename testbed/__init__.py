"""A real Kubernetes of several nodes on one Linux machine, without Docker.

Lives here: everything behind `bin/testbed`, written with the standard library only, so that it runs on a machine where
nothing has been installed yet. Every node is a network namespace with its own containerd, kubelet and kube-proxy; the
control plane runs beside them, on the bridge that joins them.

Must not live here: anything the product needs at run time. The product never imports this package.
"""
