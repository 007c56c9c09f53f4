"""The commands `bin/testbed fault …` and `bin/testbed heal`."""

import argparse
import sys
import time
from collections.abc import Callable
from typing import TypeAlias

from testbed import faults, processes, record
from testbed.errors import TestbedError
from testbed.faults import (
    ApiServerDown,
    ApiServerSlow,
    ClockJump,
    DiskFull,
    Fault,
    LinkLoss,
    LinkSlow,
    NodeCut,
    NodeStop,
    Partition,
    Pause,
    PodFreeze,
    pods,
)
from testbed.faults.pods import AGENT
from testbed.layout import REPOSITORY, Layout

# argparse has no public name for it, and at run time it takes no parameter.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
Arguments = argparse.Namespace
PERCENT = range(1, 101)
Maker = Callable[[Layout, Arguments], Fault]


def add_commands(commands: Commands) -> None:
    breaking = commands.add_parser("fault", help="break something, until it is healed")
    kinds = breaking.add_subparsers(metavar="FAULT", required=True)
    add_node_faults(kinds)
    add_link_faults(kinds)
    add_pod_faults(kinds)
    add_other_faults(kinds)
    mending = commands.add_parser("heal", help="undo faults: all of them, or those named")
    mending.add_argument("ids", nargs="*", metavar="ID", help="as `status` shows them (default: all)")
    mending.add_argument("--after", type=float, default=0, metavar="SECONDS", help="wait first")
    mending.set_defaults(act=run_heal)


def lasting(kinds: Commands, kind: str, help_: str, make: Maker) -> argparse.ArgumentParser:
    """A fault that stays until it is healed."""
    parser = kinds.add_parser(kind, help=help_)
    parser.add_argument("--seconds", type=float, help="heal by itself after so long (default: stays until `heal`)")
    parser.set_defaults(act=lambda args: run_fault(args, make))
    return parser


def add_node_faults(kinds: Commands) -> None:
    lasting(kinds, "node-cut", "cut a node off the network", lambda _, args: NodeCut(args.node)).add_argument(
        "node", metavar="NODE"
    )
    lasting(
        kinds, "node-stop", "stop a node's kubelet and runtime, freeze its pods", lambda _, args: NodeStop(args.node)
    ).add_argument("node", metavar="NODE")


def add_link_faults(kinds: Commands) -> None:
    loss = lasting(kinds, "link-loss", "lose packets of a node", lambda _, args: LinkLoss(args.node, args.percent))
    loss.add_argument("node", metavar="NODE")
    loss.add_argument("--percent", type=share, default=20, help="how many of a hundred (default: %(default)s)")
    slow = lasting(
        kinds, "link-slow", "narrow a node's link", lambda _, args: LinkSlow(args.node, args.kilobits, args.queue_ms)
    )
    slow.add_argument("node", metavar="NODE")
    slow.add_argument("--kilobits", type=positive, default=1000, help="per second (default: %(default)s)")
    slow.add_argument("--queue-ms", type=positive, default=500, help="the longest wait (default: %(default)s)")
    cut = lasting(
        kinds,
        "partition",
        "keep two sides from each other: a node, NAMESPACE/POD, or apiserver",
        lambda layout, args: Partition.between(layout, args.one, args.other, one_way=args.one_way),
    )
    cut.add_argument("one", metavar="A")
    cut.add_argument("other", metavar="B")
    cut.add_argument("--one-way", action="store_true", help="only packets from A to B are lost")


def add_pod_faults(kinds: Commands) -> None:
    killing = kinds.add_parser("pod-kill", help="send a signal to a process of a pod")
    add_process_target(killing)
    killing.add_argument("--signal", default="KILL", help="(default: %(default)s)")
    killing.set_defaults(act=lambda args: run_kill(args, args.container))
    agent = kinds.add_parser("agent-kill", help="the same for the pod's agent")
    agent.add_argument("pod", metavar="POD")
    agent.add_argument("--signal", default="KILL", help="(default: %(default)s)")
    agent.set_defaults(act=lambda args: run_kill(args, AGENT), process=None)
    add_process_target(lasting(kinds, "pause", "stop one process of a pod for a while", make_pause))
    lasting(
        kinds,
        "agent-pause",
        "the same for the pod's agent",
        lambda layout, args: Pause.of(layout, args.pod, container=AGENT),
    ).add_argument("pod", metavar="POD")
    lasting(
        kinds, "pod-freeze", "stop every process of a pod", lambda layout, args: PodFreeze.of(layout, args.pod)
    ).add_argument("pod", metavar="POD")
    clock = lasting(kinds, "clock-jump", "move the wall clock of one process", make_clock_jump)
    add_process_target(clock)
    clock.add_argument("--by", type=int, required=True, metavar="SECONDS", help="forward, or back if negative")


def add_process_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pod", metavar="POD", help="NAME or NAMESPACE/NAME")
    parser.add_argument("--container", help="whose main process (default: the pod's first container)")
    parser.add_argument("--process", metavar="COMMAND", help="the process of this name instead, in any container")


def add_other_faults(kinds: Commands) -> None:
    lasting(
        kinds, "disk-full", "fill a claim's volume", lambda layout, args: DiskFull.of(layout, args.claim)
    ).add_argument("claim", metavar="PVC", help="NAME or NAMESPACE/NAME")
    lasting(kinds, "apiserver-down", "kill the API server", lambda *_: ApiServerDown())
    lasting(
        kinds, "apiserver-slow", "let the API server answer late", lambda _, args: ApiServerSlow(args.delay_ms)
    ).add_argument("--delay-ms", type=positive, default=500, help="up to so late (default: %(default)s)")


def make_pause(layout: Layout, args: Arguments) -> Fault:
    return Pause.of(layout, args.pod, container=args.container, process=args.process)


def make_clock_jump(layout: Layout, args: Arguments) -> Fault:
    return ClockJump.of(layout, args.pod, args.by, container=args.container, process=args.process)


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number above 0 is needed")
    return int(text)


def share(text: str) -> int:
    if not text.isdigit() or int(text) not in PERCENT:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 to 100 is needed")
    return int(text)


def run_fault(args: Arguments, make: Maker) -> int:
    layout, _ = record.require(args.name)
    fault = make(layout, args)
    faults.inject(layout, fault)
    if args.seconds is not None:
        heal_later(layout, fault, args.seconds)
    print(f"{fault}; undo: bin/testbed --name {layout.name} heal {fault.id}")
    return 0


def heal_later(layout: Layout, fault: Fault, seconds: float) -> None:
    program = [sys.executable, str(REPOSITORY / "bin" / "testbed"), "--name", layout.name]
    processes.start(layout, f"heal-{fault.id}", [*program, "heal", fault.id, "--after", str(seconds)])


def run_kill(args: Arguments, container: str | None) -> int:
    layout, _ = record.require(args.name)
    pid = pods.kill(layout, args.pod, sig=args.signal, container=container, process=args.process)
    print(f"sent {args.signal} to process {pid} of {args.pod}")
    return 0


def run_heal(args: Arguments) -> int:
    layout, _ = record.require(args.name)
    time.sleep(args.after)
    present = {fault.id: fault for fault in faults.active(layout)}
    unknown = [id_ for id_ in args.ids if id_ not in present]
    if unknown and not args.after:
        raise TestbedError(f"no fault {', '.join(unknown)}: there is {', '.join(present) or 'none'}")
    for id_, fault in present.items():
        if not args.ids or id_ in args.ids:
            faults.heal(layout, fault)
            print(f"healed {fault}")
    return 0
