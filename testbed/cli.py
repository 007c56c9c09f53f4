"""The command `bin/testbed`."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from testbed import cluster, helm, images, kubectl, kubernetes, machine, node_images, record, status
from testbed.errors import TestbedError
from testbed.faults import cli as fault_cli
from testbed.images import registry
from testbed.layout import MAX_NODES
from testbed.progress import Progress

DEFAULT_NODES = 3
PROGRAMS: dict[str, Callable[[], Path]] = {"kubernetes": kubernetes.binary, "helm": helm.binary}


def main(argv: Sequence[str] | None = None) -> int:
    own, passed_on = split_at_kubectl(list(sys.argv[1:] if argv is None else argv))
    args = parser().parse_args(own, argparse.Namespace(passed_on=passed_on))
    try:
        record.check_name(args.name)
        code: int = args.act(args)
    except TestbedError as problem:
        print(f"testbed: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("testbed: interrupted; the same command resumes", file=sys.stderr)
        return 130
    return code


def split_at_kubectl(argv: list[str]) -> tuple[list[str], list[str]]:
    """What follows `kubectl` is kubectl's, options in front included, which argparse would claim."""
    end = argv.index("kubectl") + 1 if "kubectl" in argv else len(argv)
    return argv[:end], argv[end:]


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="testbed", description="A real Kubernetes of several nodes on this machine.")
    default = os.environ.get("TESTBED_NAME", "valkey")
    top.add_argument("--name", default=default, help=f"which testbed (default: {default}; or TESTBED_NAME)")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    starting = commands.add_parser("up", help="bring it up, or resume, repair or enlarge it")
    starting.add_argument("--nodes", type=node_count, default=DEFAULT_NODES, help="how many (default: %(default)s)")
    starting.set_defaults(act=run_up)
    commands.add_parser("down", help="take it down and leave nothing behind").set_defaults(act=run_down)
    commands.add_parser("status", help="what runs, and what is broken on purpose").set_defaults(act=run_status)
    commands.add_parser("kubeconfig", help="print the path of its kubeconfig").set_defaults(act=run_kubeconfig)
    finding = commands.add_parser("program", help="print the path of a program that it builds")
    finding.add_argument("program", nargs="?", choices=PROGRAMS, default="kubernetes", help="(default: %(default)s)")
    finding.set_defaults(act=run_program)
    commands.add_parser("kubectl", help="run kubectl against it").set_defaults(act=run_kubectl)
    commands.add_parser("images", help="build the images and list their archives").set_defaults(act=run_images)
    loading = commands.add_parser("load", help="import an image archive into every node")
    loading.add_argument("archive", type=Path, metavar="IMAGE.tar", nargs="+")
    loading.set_defaults(act=run_load)
    reading = commands.add_parser("logs", help="print the logs of its components")
    reading.add_argument("component", nargs="?", help="such as apiserver or kubelet-node0 (default: list them)")
    reading.add_argument("--lines", type=int, default=200, help="how many of the last lines (default: %(default)s)")
    reading.set_defaults(act=run_logs)
    fault_cli.add_commands(commands)
    return top


def node_count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= MAX_NODES:
        raise argparse.ArgumentTypeError(f"{text!r}: a testbed has 1 to {MAX_NODES} nodes")
    return int(text)


def run_up(args: argparse.Namespace) -> int:
    machine.check()
    progress = Progress()
    machine.install_packages(progress)
    kubernetes.binary()
    layout = cluster.up(args.name, args.nodes, images.build_all(progress), progress)
    progress.say(f"up: Kubernetes {kubernetes.version()} at {layout.api_url}")
    print(f"export KUBECONFIG={layout.kubeconfig()}")
    return 0


def run_down(args: argparse.Namespace) -> int:
    machine.check()
    cluster.down(args.name, Progress())
    return 0


def run_status(args: argparse.Namespace) -> int:
    print(status.describe(*record.require(args.name)))
    return 0


def run_kubeconfig(args: argparse.Namespace) -> int:
    layout, _ = record.require(args.name)
    print(layout.kubeconfig())
    return 0


def run_program(args: argparse.Namespace) -> int:
    print(PROGRAMS[args.program]())
    return 0


def run_kubectl(args: argparse.Namespace) -> int:
    layout, _ = record.require(args.name)
    argv = kubectl.argv(layout, *args.passed_on)
    os.execv(argv[0], argv)


def run_images(_args: argparse.Namespace) -> int:
    machine.check()
    progress = Progress()
    machine.install_packages(progress)
    for archive in images.build_all(progress):
        print(archive)
    return 0


def run_load(args: argparse.Namespace) -> int:
    layout, known = record.require(args.name)
    registry.offer(layout.image_catalogue, [path for path in args.archive if node_images.digests_in(path)])
    for each in layout.nodes(known.nodes):
        node_images.load(each, args.archive)
        print(f"{each.name}: has {', '.join(name for path in args.archive for name in node_images.digests_in(path))}")
    return 0


def run_logs(args: argparse.Namespace) -> int:
    layout, _ = record.require(args.name)
    if args.component is None:
        print("\n".join(sorted(path.stem for path in layout.logs.glob("*.log"))))
        return 0
    log = layout.logs / f"{args.component}.log"
    if not log.exists():
        known = ", ".join(sorted(path.stem for path in layout.logs.glob("*.log")))
        raise TestbedError(f"no component {args.component!r}: there are {known}")
    print("\n".join(log.read_text(errors="replace").splitlines()[-args.lines :]))
    return 0
