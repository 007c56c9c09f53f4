"""A client that writes all the time, and remembers what was acknowledged."""

import contextlib
from collections.abc import Iterator

from tests.e2e.valkeys import CLIENT, Shop

# In the client's pod.
_OK, _BAD, _STOP = "/tmp/ok", "/tmp/bad", "/tmp/stop"  # noqa: S108
_LOOP = """
rm -f /tmp/stop /tmp/ok /tmp/bad; touch /tmp/ok /tmp/bad; i=0
while [ ! -e /tmp/stop ]; do
  i=$((i+1))
  said=$(timeout 3 valkey-cli $2 -h cart -a "$1" --no-auth-warning SET steady:$i $i 2>&1)
  if [ "$said" = OK ]; then echo steady:$i >> /tmp/ok; else echo "$i $said" >> /tmp/bad; fi
  sleep 0.2
done
"""


@contextlib.contextmanager
def steady_writes(shop: Shop, *, clustered: bool = False) -> Iterator[None]:
    """Write until the block ends; then everything that was acknowledged must be there, and writing must go on."""
    follow = "-c" if clustered else ""
    place = (f"--namespace={shop.namespace}", CLIENT, "--")
    start = f"nohup sh -c '{_LOOP.replace(chr(39), '')}' loop \"$1\" {follow} > /dev/null 2>&1 &"
    shop.cluster.kubectl("exec", *place, "sh", "-c", start, "start", shop.password())
    yield
    before = len(acknowledged(shop))
    shop.cluster.wait_for(
        "writes to be acknowledged again",
        lambda: True if len(acknowledged(shop)) > before + 3 else None,
        shop.namespace,
    )
    shop.cluster.kubectl("exec", *place, "touch", _STOP)
    names = acknowledged(shop)
    found = _count_there(shop, follow)
    assert found == len(names), f"{len(names) - found} acknowledged writes are lost; refused: {refused(shop)}"


def _count_there(shop: Shop, follow: str) -> int:
    """How many of the acknowledged keys are there; asked one by one, for a cluster has them in many places."""
    ask = f"sed 's/^/EXISTS /' {_OK} | valkey-cli {follow} -h cart -a \"$1\" --no-auth-warning | grep -c '^1$'"
    return int(shop.cluster.say_in(shop.namespace, CLIENT, "sh", "-c", ask, "ask", shop.password()))


def acknowledged(shop: Shop) -> list[str]:
    return shop.cluster.say_in(shop.namespace, CLIENT, "cat", _OK).split()


def refused(shop: Shop) -> list[str]:
    return shop.cluster.say_in(shop.namespace, CLIENT, "cat", _BAD).splitlines()
