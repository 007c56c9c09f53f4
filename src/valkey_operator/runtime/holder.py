"""The name under which a process holds the lease: host, nonce and address.

It reads `<host>_<nonce>_<ip:port>`, such as `valkey-operator-7d9_5f2c_10.0.0.7:9444`.

Owns: the spelling. The address is where agents reach the process; every candidate reads the lease anyway, so a standby
can name the leader without asking anybody.
"""

import ipaddress
import re

_ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[0-9.]+):(?P<port>[0-9]{1,5})")
_PORTS = range(1, 1 << 16)


def join_address(host: str, port: int) -> str:
    """host:port, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def holder_name(host: str, nonce: str, address: str) -> str:
    """A process that starts anew under the same host name has another nonce."""
    return f"{host}_{nonce}_{address}"


def address_in(holder: str) -> str | None:
    """The address in a holder's name; None where it is none of ours, or names no address."""
    match = _ADDRESS.fullmatch(holder.rpartition("_")[2])
    if match is None or int(match["port"]) not in _PORTS:
        return None
    try:
        ipaddress.ip_address(match["host"].strip("[]"))
    except ValueError:
        return None
    return match[0]
