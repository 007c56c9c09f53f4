"""The Secret with which clients log in, where the user gave none.

Owns: its keys. Refuses to know: where the password comes from.
"""

from collections.abc import Mapping

from valkey_operator.core.names import Owner, auth_secret_name
from valkey_operator.core.render.objects import Manifest, metadata
from valkey_operator.core.render.pod import SERVER_PORT

_USER = "default"


def auth_secret(owner: Owner, labels: Mapping[str, str], password: str) -> Manifest:
    """Everything a client needs, each part under its own key; the password must need no quoting in a URI."""
    host = f"{owner.name}.{owner.namespace}.svc"
    return {
        "metadata": metadata(auth_secret_name(owner.name), owner, labels, cr=owner.name),
        "type": "Opaque",
        "stringData": {
            "username": _USER,
            "password": password,
            "host": host,
            "port": str(SERVER_PORT),
            "uri": f"valkey://{_USER}:{password}@{host}:{SERVER_PORT}",
        },
    }
