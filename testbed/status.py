"""What `bin/testbed status` says: which daemons run, whether nodes are Ready, what is broken on purpose."""

from testbed import cluster, control_plane, faults, kubectl, node, processes, system
from testbed.layout import Layout
from testbed.record import Record


def describe(layout: Layout, record: Record) -> str:
    nodes = layout.nodes(record.nodes)
    roles = [*control_plane.COMPONENTS, *system.DAEMONS, *(node.role(d, each) for each in nodes for d in node.DAEMONS)]
    running = {process.role for process in processes.processes_of(layout) if process.leads}
    stopped = [role for role in roles if role not in running]
    missing = f"; not: {', '.join(stopped)}" if stopped else ""
    lines = [
        f"testbed {layout.name}: {layout.api_url}, kubeconfig {layout.kubeconfig()}",
        f"daemons: {len(roles) - len(stopped)} of {len(roles)} run{missing}",
        f"nodes: {describe_nodes(layout, record.nodes)}",
        f"faults: {', '.join(map(str, faults.active(layout))) or 'none'}",
    ]
    return "\n".join(lines)


def describe_nodes(layout: Layout, count: int) -> str:
    if kubectl.attempt(layout, "get", "--raw", "/readyz", "--request-timeout=3s").returncode:
        return "unknown, the API server does not answer"
    ready = cluster.ready_nodes(layout)
    return f"{len(ready)} of {count} Ready ({', '.join(sorted(ready))})"
