"""One daemon in the foreground, its log on stderr.

python3 -m testbed.addons policy KUBECONFIG NAMESPACES
python3 -m testbed.addons storage KUBECONFIG ROOT
"""

import argparse
import logging
import sys
from pathlib import Path

from testbed.addons import enforcer, provisioner


def main(argv: list[str]) -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    asked = arguments().parse_args(argv)
    if asked.daemon == "policy":
        enforcer.run(asked.kubeconfig, asked.namespaces)
    else:
        provisioner.run(asked.kubeconfig, asked.root)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m testbed.addons", description="A daemon of the testbed.")
    daemons = parser.add_subparsers(dest="daemon", required=True)
    policy = daemons.add_parser("policy", help="enforce ingress network policies on the nodes")
    policy.add_argument("kubeconfig", type=Path)
    policy.add_argument("namespaces", type=Path, help="folder with the network namespace of each node")
    storage = daemons.add_parser("storage", help="make, grow and remove the volumes of the default StorageClass")
    storage.add_argument("kubeconfig", type=Path)
    storage.add_argument("root", type=Path, help="folder for the disks of the volumes")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
