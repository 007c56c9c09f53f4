"""What one ValkeyCluster of three shards costs when nothing happens: requests to the API server, memory of all agents.

At rest nothing should be sent but the renewals of the lease and of watches; what else was sent is told by itself.
"""

import argparse

from bench.at_rest import rest
from bench.results_file import append
from tests.e2e.cluster import cluster_under_test
from tests.e2e.sharded import sharded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of rest (default: %(default)s)")
    args = parser.parse_args()
    figures = rest(cluster_under_test(), "valkeycluster", [sharded()], args.seconds)
    print(f"{figures}\nkept in {append('cluster_rest', figures)}")
    beyond = {who: sent for who, sent in figures["beyond_renewals"].items() if sent}
    print(f"beyond renewals: {beyond or 'nothing'}")


if __name__ == "__main__":
    main()
