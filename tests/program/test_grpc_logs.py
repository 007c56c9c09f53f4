"""What gRPC has to say about a peer that hangs up stays out of the logs, for it is no JSON."""

import subprocess
import sys

TALK = """
import asyncio

from valkey_operator.runtime.logs import configure_logs

configure_logs("info")
import grpc


entered = asyncio.Event()


async def be_slow(request, context):
    entered.set()
    await asyncio.sleep(30)


async def hang_up():
    entered.clear()
    server = grpc.aio.server()
    handlers = {"wait": grpc.unary_unary_rpc_method_handler(be_slow)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/test/wait")(b"")
        await entered.wait()
        await server.stop(None)
        await call.code()


async def talk():
    for _ in range(10):
        await hang_up()


asyncio.run(talk())
"""


def test_a_server_that_ends_in_the_middle_of_a_call_is_told_of_by_no_line_of_grpcs_core() -> None:
    done = subprocess.run([sys.executable, "-c", TALK], capture_output=True, text=True, timeout=60, check=True)
    assert "goaway" not in done.stderr
