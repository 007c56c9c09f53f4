import asyncio
from pathlib import Path

from tests.support.agents import lonely_node

DEADLINE_S = 10


def test_that_the_pod_leaves_is_noticed_without_asking_the_server(tmp_path: Path) -> None:
    async def run() -> None:
        node = lonely_node(tmp_path)
        watching = asyncio.create_task(node.watch_process())
        (tmp_path / "leaving").touch()
        seen = await node.wait_for(lambda report: report.facts.leaving, within_s=DEADLINE_S)
        watching.cancel()
        assert seen, node.report
        assert not (tmp_path / "leaving").exists()

    asyncio.run(run())
