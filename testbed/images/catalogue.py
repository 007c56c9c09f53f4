"""The images of the testbed: what they are called and what is in them."""

from pathlib import Path

from testbed.images.containerfile import OwnContainerfile
from testbed.images.debian import DROPPED, DebianPackages, accounts
from testbed.images.golang import GoProgram
from testbed.images.tree import folder, symlink
from testbed.images.workshop import Image

PROJECT = Path(__file__).resolve().parents[2]
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"

# Which Debian has which Valkey: suite, overlay, packages that keep others out.
VALKEY_SUITES = {
    "8.0": ("bookworm", "bookworm-backports", ("usr-is-merged",)),
    "8.1": ("trixie", "", ()),
    "9.1": ("forky", "", ()),
}
VALKEY_VERSIONS = tuple(VALKEY_SUITES)
VALKEY_USER = 999
# With the standalone programs here, the packages don't ask for all of systemd.
VALKEY_PACKAGES = ("valkey-server", "valkey-sentinel", "valkey-tools", "systemd-standalone-sysusers")
SHELL_PACKAGES = ("base-files", "bash", "coreutils", "dash", "findutils", "grep", "hostname", "mawk", "sed")

OPERATOR_USER = 65532
UNUSED_BY_THE_OPERATOR = (
    *("usr/bin/mawk", "usr/bin/pdb*", "usr/bin/py3*", "usr/bin/pydoc*", "usr/bin/pygettext*", "usr/bin/tar"),
    *("usr/lib/python3*/pydoc_data", "usr/lib/python3*/test", "usr/share/python3"),
)
COMPILE_STANDARD_LIBRARY = (
    'chroot "$1" /usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.13'
)


def catalogue() -> list[Image]:
    return [pause(), *(valkey(version) for version in VALKEY_VERSIONS), redis_exporter(), operator()]


def valkey(version: str) -> Image:
    """Like the official image, except that there is no entry point that drops root, and protected mode is on."""
    suite, overlay, packages = VALKEY_SUITES[version]
    recipe = DebianPackages(
        suite=suite,
        overlay=overlay,
        packages=(*VALKEY_PACKAGES, *SHELL_PACKAGES, *packages),
        versioned="valkey-server",
        additions=(
            *accounts("valkey", VALKEY_USER, "/data"),
            folder("data", 0o777, VALKEY_USER),
            symlink("usr/bin/awk", "mawk"),
        ),
        config={
            "Env": [PATH],
            "Cmd": ["valkey-server"],
            "WorkingDir": "/data",
            "Volumes": {"/data": {}},
            "ExposedPorts": {"6379/tcp": {}},
        },
    )
    return Image(f"valkey/valkey:{version}", recipe)


def redis_exporter() -> Image:
    recipe = GoProgram(
        module=Path(__file__).parent / "exporter",
        package="github.com/oliver006/redis_exporter",
        version_variable="main.BuildVersion",
        config={"Entrypoint": ["/redis_exporter"], "User": "59000:59000", "ExposedPorts": {"9121/tcp": {}}},
    )
    return Image("oliver006/redis_exporter:latest", recipe)


def pause() -> Image:
    """The sandbox of each pod: catatonit is static, reaps zombies and ends on SIGTERM."""
    recipe = DebianPackages(
        suite="trixie",
        packages=("catatonit",),
        only=("usr/bin/catatonit", "usr/share/doc/catatonit/copyright"),
        config={"Entrypoint": ["/usr/bin/catatonit", "-P"], "User": "65535:65535"},
    )
    return Image("localhost/pause:1", recipe)


def python_base() -> Image:
    """Python with its standard library compiled, certificates and time zones: no shell, no package manager."""
    recipe = DebianPackages(
        suite="trixie",
        packages=("base-files", "ca-certificates", "libstdc++6", "python3", "tzdata"),
        finish=COMPILE_STANDARD_LIBRARY,
        drop=(*DROPPED, *UNUSED_BY_THE_OPERATOR),
        additions=accounts("operator", OPERATOR_USER, "/nonexistent"),
        config={"Env": [PATH, "LANG=C.UTF-8"], "Cmd": ["python3"]},
    )
    return Image("localhost/python:3.13", recipe)


def operator() -> Image:
    return Image("valkey-operator:dev", OwnContainerfile(PROJECT, python_base()))
