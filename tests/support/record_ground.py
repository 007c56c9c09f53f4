"""An agent as a process with an API server, and a program that stands in for its server at the gate."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.agent_program import Ground
from tests.support.api_server import ApiServer

# Waits at the gate as a server does, and says on file what it read there.
SERVER = "import sys, time; text = open(sys.argv[1]).read(); open(sys.argv[2], 'w').write(text); time.sleep(60)"


class RecordGround(Ground):
    """A ground with an API server."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.api = ApiServer(folder)
        self.answer = folder / "answer"

    @contextlib.asynccontextmanager
    async def server(self) -> AsyncIterator[None]:
        """What stands at the gate, and has the command line of a server."""
        await self.wait_until_it_serves()
        arguments = [str(self.gate / "go.conf"), str(self.answer), "valkey-server", str(self.folder / "boot.conf")]
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", SERVER, *arguments)
        try:
            yield
        finally:
            process.kill()
            await process.wait()

    async def wait_until_asked(self, times: int) -> None:
        await self.wait_for(f"request {times} for the record", lambda: len(self.api.asked) >= times)

    async def wait_until_open(self) -> None:
        await self.wait_for("answer at the gate", lambda: self.answer.exists() and bool(self.answer.read_text()))

    def start_conf(self) -> str:
        return (self.gate / "start.conf").read_text()

    def promise(self) -> dict[str, int]:
        kept: dict[str, int] = json.loads((self.gate / "promise.json").read_text())
        return kept
