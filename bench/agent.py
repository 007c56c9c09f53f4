"""What the agent costs, how soon it starts and tells of a server's death, and how long a server needs through the gate.

`python -m bench.agent` runs the agent's process beside real servers; the operator is a stand-in on loopback.
"""

import argparse
import asyncio
import os
import platform
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.results_file import append, summary
from tests.support.agent_program import Ground, Operator
from tests.support.agents import NODE, OPERATOR, POD_UID
from tests.support.api_server import ApiServer, record
from tests.valkey.gated import Pod, pod
from tests.valkey.servers import NEWEST
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.agent_client import AgentClient

ORDER = pb.Order(term=1, epoch=1, pod_uid=POD_UID)
OPEN = pb.OpenRequest(order=ORDER, kind=pb.START_KIND_WRITABLE_PRIMARY)
MIB = 2**20
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
CALLS = 1000
IDLE_S = 20


@dataclass
class Bench:
    ground: Ground
    made: Pod
    operator: Operator
    client: AgentClient
    agent_pid: int

    async def heard(self, state: pb.ProcessState) -> float:
        """When the operator got the report of a state."""
        async with asyncio.timeout(60):
            while not self.operator.got or self.operator.got[-1].process != state:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.0005)
        return time.monotonic()

    async def open(self) -> float:
        """From the order to the first answer on the socket, in milliseconds."""
        await self.heard(pb.PROCESS_STATE_WAITING)
        begun = time.monotonic()
        result = await self.client.order("Open", OPEN, timeout_s=5)
        assert result.outcome == pb.OUTCOME_OBEYED, result
        with self.made.agent_client() as client:
            self.made.wait_for(client)
        return (time.monotonic() - begun) * 1000


@asynccontextmanager
async def benched() -> AsyncIterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="bench-agent-") as name:
        ground = Ground(Path(name))
        operator = ground.operator()
        with pod(NEWEST, Path(name)) as made:
            (Path(name) / "settings.conf").write_text('save ""\n')
            settings = {"port": str(made.port), "settings_file": f"{name}/settings.conf"}
            async with (
                operator.serving(),
                ground.running(operator, **settings) as agent,
                AgentClient(f"127.0.0.1:{ground.grpc_port}", NODE, ground.files("op", OPERATOR)) as client,
            ):
                await ground.wait_until_it_serves()
                yield Bench(ground, made, operator, client, agent.pid)


def memory_mib(pid: int) -> dict[str, float]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "RssAnon", "VmHWM"))}
    return {name: round(value / 1024, 1) for name, value in kib.items()}


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


async def idle_cores(pid: int) -> float:
    begun, used = time.monotonic(), cpu_s(pid)
    await asyncio.sleep(IDLE_S)
    return round((cpu_s(pid) - used) / (time.monotonic() - begun), 4)


async def costs() -> dict[str, Any]:
    async with benched() as bench:
        figures: dict[str, Any] = {"memory_mib_started": memory_mib(bench.agent_pid)}
        bench.made.start_server()
        await bench.heard(pb.PROCESS_STATE_WAITING)
        figures["cores_while_a_server_waits"] = await idle_cores(bench.agent_pid)
        await bench.open()
        figures["cores_while_a_server_runs"] = await idle_cores(bench.agent_pid)
        for _ in range(CALLS):
            await bench.client.report(timeout_s=5)
        figures[f"memory_mib_after_{CALLS}_calls"] = memory_mib(bench.agent_pid)
    return figures


async def starts(runs: int) -> dict[str, Any]:
    """Milliseconds from the start of the agent's process to the gate, to its probes, and to its taking orders."""
    found: dict[str, list[float]] = {"gate": [], "probes": [], "orders": []}
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="bench-agent-") as name:
            ground = Ground(Path(name))
            signs: dict[str, Callable[[], bool]] = {
                "gate": (ground.gate / "go.conf").exists,
                "probes": partial(accepts, ground.probe_port),
                "orders": partial(accepts, ground.grpc_port),
            }
            begun = time.monotonic()
            async with ground.running():
                while signs:
                    for sign in [sign for sign, holds in signs.items() if holds()]:
                        found[sign].append((time.monotonic() - begun) * 1000)
                        del signs[sign]
                    await asyncio.sleep(0.002)
    return {f"{sign}_ms": summary(values) for sign, values in found.items()}


def accepts(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


async def starts_by_the_record(runs: int) -> dict[str, Any]:
    """Milliseconds from the start of a server's process to its readiness, and from a hook's file to its report."""
    ready, leaving = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="bench-agent-") as name:
            ground, api = Ground(Path(name)), ApiServer(Path(name))
            api.record = record()
            operator = ground.operator()
            with pod(NEWEST, Path(name)) as made:
                async with (
                    api.serving(),
                    operator.serving(),
                    ground.running(operator, port=str(made.port), **api.settings),
                ):
                    await ground.wait_until_it_serves()
                    await ground.wait_for("report", lambda: bool(operator.got))  # noqa: B023
                    begun = time.monotonic()
                    made.start_server()
                    while (await asyncio.to_thread(ground.ask, "/readyz"))[0] != 200:
                        pass
                    ready.append((time.monotonic() - begun) * 1000)
                    await asyncio.sleep(2)
                    begun = time.monotonic()
                    (ground.gate / "leaving").touch()
                    while not operator.got[-1].leaving:  # noqa: ASYNC110 - another process
                        await asyncio.sleep(0.0005)
                    leaving.append((time.monotonic() - begun) * 1000)
    return {"server_to_ready_ms": summary(ready), "leaving_heard_ms": summary(leaving)}


def fill(made: Pod, mib: int) -> None:
    with made.agent_client() as client:
        for index in range(mib):
            client.set(f"key{index}", os.urandom(MIB))


async def deaths(runs: int, mib: int) -> dict[str, Any]:
    """Milliseconds from SIGKILL to the report at the operator, and to the end of the process."""
    heard, ended, opened = [], [], []
    async with benched() as bench:
        for _ in range(runs):
            server = bench.made.start_server()
            opened.append(await bench.open())
            await bench.heard(pb.PROCESS_STATE_RUNNING)
            fill(bench.made, mib)
            server.kill()
            killed_at = time.monotonic()
            end = asyncio.get_running_loop().run_in_executor(None, lambda: (server.wait(), time.monotonic())[1])  # noqa: B023
            heard.append((await bench.heard(pb.PROCESS_STATE_GONE) - killed_at) * 1000)
            ended.append((await end - killed_at) * 1000)
    return {"heard_ms": summary(heard), "process_ended_ms": summary(ended), "open_to_answer_ms": summary(opened)}


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "start": await starts(args.runs),
        "start_by_the_record": await starts_by_the_record(max(3, args.runs // 4)),
        **await costs(),
        "death_of_an_empty_server": await deaths(args.runs, 0),
        f"death_with_{args.mib}_mib": await deaths(max(3, args.runs // 4), args.mib),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="how many deaths (default: %(default)s)")
    parser.add_argument("--mib", type=int, default=1024, help="data of the large server (default: %(default)s)")
    figures = asyncio.run(measure(parser.parse_args()))
    print(f"{figures}\nkept in {append('agent', figures)}")


if __name__ == "__main__":
    main()
