"""The Secret with which clients log in, where the user gave none.

Owns: its keys. Refuses to know: where the password comes from.
"""

from collections.abc import Mapping

from valkey_operator.core.names import Owner, auth_secret_name
from valkey_operator.core.render.objects import Manifest, metadata
from valkey_operator.core.render.pod import SERVER_PORT

_USER = "default"
_LINE_END = "\n"
_PLAIN_IN_URI = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def auth_secret(owner: Owner, labels: Mapping[str, str], password: str) -> Manifest:
    """Everything a client needs, each part under its own key."""
    host = f"{owner.name}.{owner.namespace}.svc"
    return {
        "metadata": metadata(auth_secret_name(owner.name), owner, labels, cr=owner.name),
        "type": "Opaque",
        "stringData": {
            "username": _USER,
            "password": password,
            "host": host,
            "port": str(SERVER_PORT),
            "uri": f"valkey://{_USER}:{_in_uri(password.removesuffix(_LINE_END))}@{host}:{SERVER_PORT}",
        },
    }


def parse_password(data: Mapping[str, bytes]) -> str | None:
    """The password in such a Secret; None where there is none that a server could take."""
    try:
        password = data.get("password", b"").decode()
    except UnicodeDecodeError:
        return None
    return password if password.removesuffix(_LINE_END) else None


def _in_uri(text: str) -> str:
    return "".join(chr(each) if each in _PLAIN_IN_URI else f"%{each:02X}" for each in text.encode())
