"""The modules of the server's image, such as valkey-bundle; its own entry point, which would load them, is not run.

Owns: where they are. Refuses to know: when they are loaded, and what a user chose instead.
"""

from pathlib import Path

import structlog

from valkey_operator.valkey.boot import ModuleToLoad

log = structlog.get_logger(__name__)

FOLDER = "usr/lib/valkey"


def modules_in_image(root: Path) -> list[ModuleToLoad]:
    """Every module in the folder, in the order of their names; `root` is the image's file system."""
    try:
        found = sorted(path.name for path in (root / FOLDER).iterdir() if path.suffix == ".so")
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("the image's modules cannot be listed, and are not loaded", reason=str(error))
        return []
    return [ModuleToLoad(f"/{FOLDER}/{name}") for name in found]
