"""The real images: needs root, and the network unless the cache has them."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from testbed.images import catalogue, oci, rootfs
from testbed.images.shelf import image_cache, uv
from testbed.images.workshop import Image, Tools, build

pytestmark = [pytest.mark.images, pytest.mark.timeout(600)]

PROGRAMS = ["valkey-server", "valkey-sentinel", "valkey-cli", "valkey-benchmark", "valkey-check-aof"]
FORBIDDEN = ["gcc", "cc", "c99", "ld", "make", "apt", "apt-get", "dpkg", "pip", "pip3", "uv", "perl", "sh", "bash"]


class Built(NamedTuple):
    """An image's root file system and what its config says about running it."""

    root: Path
    config: dict[str, Any]


def built(image: Image) -> Built:
    archive = build(image, image_cache(), print, Tools(uv=uv(image_cache(), print)))
    return Built(rootfs.unpacked(image, image_cache(), print), oci.read_config(archive)["config"])


def inside(root: Path, user: int, *argv: str) -> str:
    """What a program of the image says when a container's user runs it."""
    chroot = ["chroot", f"--userspec={user}:{user}", str(root), "/usr/bin/env", "-i", "PATH=/usr/bin", *argv]
    done = subprocess.run(chroot, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=catalogue.VALKEY_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def valkey(version: str) -> Path:
    return rootfs.rootfs(version, image_cache(), print)


@pytest.fixture(scope="module")
def operator() -> Built:
    return built(catalogue.operator())


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_valkey_program_runs_by_its_plain_name_as_any_user(version: str, valkey: Path, program: str) -> None:
    assert re.search(rf"\b{re.escape(version)}\.\d+", inside(valkey, 12345, program, "--version"))


def test_the_patch_level_in_the_alias_is_the_one_the_server_reports(version: str, valkey: Path) -> None:
    names = oci.read_names(build(catalogue.valkey(version), image_cache(), print))
    reported = re.search(r"v=(\S+)", inside(valkey, 999, "valkey-server", "--version"))
    assert reported
    assert names == [f"docker.io/valkey/valkey:{tag}" for tag in (version, reported[1])]


def test_a_shell_and_the_usual_small_programs_are_there(valkey: Path) -> None:
    script = (
        "cat /etc/passwd | grep valkey | sed s/:.*// ; ls -d /data ; hostname >/dev/null ; echo a b | awk '{print $2}'"
    )
    assert inside(valkey, 999, "sh", "-c", script).split() == ["valkey", "/data", "b"]
    assert (
        inside(valkey, 12345, "bash", "-c", "echo x > /data/probe && rm /data/probe && echo written").strip()
        == "written"
    )


def test_no_link_in_a_valkey_image_leads_nowhere(valkey: Path) -> None:
    dangling = [link for link in valkey.rglob("*") if link.is_symlink() and not resolves(link, valkey)]
    assert not dangling


def resolves(link: Path, root: Path) -> bool:
    target = link.readlink()
    landed = root / str(target).lstrip("/") if target.is_absolute() else link.parent / target
    return landed.exists() or landed.is_symlink()


def test_a_valkey_image_stays_small(version: str) -> None:
    assert build(catalogue.valkey(version), image_cache(), print).stat().st_size < 60e6


def test_a_valkey_server_of_each_version_runs_as_a_process_of_this_machine(valkey: Path, tmp_path: Path) -> None:
    with server(valkey, tmp_path) as port:
        cli = [*rootfs.launcher(valkey, "valkey-cli"), "-p", str(port)]
        for command, answer in ((["set", "a", "1"], "OK"), (["get", "a"], "1"), (["save"], "OK")):
            assert subprocess.check_output([*cli, *command], text=True, timeout=10).strip() == answer
    assert (tmp_path / "dump.rdb").exists()


def test_each_version_speaks_tls(valkey: Path, tmp_path: Path) -> None:
    request = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*request, "-keyout", tmp_path / "key", "-out", tmp_path / "crt"], check=True, capture_output=True)
    files = {"cert-file": "crt", "key-file": "key", "ca-cert-file": "crt"}
    tls = [part for option, name in files.items() for part in (f"--tls-{option}", str(tmp_path / name))]
    secure = free_port()
    with server(valkey, tmp_path, "--tls-port", str(secure), "--tls-auth-clients", "no", *tls):
        cli = [*rootfs.launcher(valkey, "valkey-cli"), "-p", str(secure), "--tls", "--cacert", str(tmp_path / "crt")]
        assert subprocess.check_output([*cli, "ping"], text=True, timeout=10).strip() == "PONG"


@contextmanager
def server(root: Path, folder: Path, *options: str) -> Iterator[int]:
    port = free_port()
    base = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    argv = [*rootfs.launcher(root), *base, *options]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = []
            for line in process.stdout or ():
                said.append(line)
                if "Ready to accept connections tcp" in line:
                    break
            else:
                pytest.fail("the server ended: " + "".join(said))
            yield port
        finally:
            process.terminate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_operator_has_no_compiler_package_manager_or_shell(operator: Built) -> None:
    programs = {
        path.name for folder in ("usr/bin", "usr/sbin", "usr/local/bin") for path in operator.root.glob(f"{folder}/*")
    }
    assert not programs & set(FORBIDDEN)
    assert not [
        path for name in ("pip", "ensurepip", "setuptools") for path in operator.root.rglob(name) if path.is_dir()
    ]


def test_the_operator_runs_as_a_user_without_rights(operator: Built) -> None:
    assert operator.config["User"] == "65532:65532"


def test_the_operator_starts_by_its_entry_point(operator: Built) -> None:
    program, *arguments = operator.config["Entrypoint"]
    assert program == "python3"
    assert "valkey-operator" in inside_operator(operator, *arguments, "--help")


def test_the_operator_finds_certificates_and_time_zones(operator: Built) -> None:
    count = "len(ssl.create_default_context().get_ca_certs())"
    code = f"import ssl, zoneinfo; zoneinfo.ZoneInfo('Europe/Paris'); print({count})"
    assert int(inside_operator(operator, "-c", code)) > 50


def test_the_operators_bytecode_is_all_there(operator: Built) -> None:
    cached = "[m.__cached__ for m in list(sys.modules.values()) if getattr(m, '__cached__', None)]"
    code = f"import os, sys, valkey_operator.cli.main; print([c for c in {cached} if not os.path.exists(c)])"
    assert inside_operator(operator, "-c", code).strip() == "[]"


def test_every_dependency_of_the_operator_has_the_version_of_the_lock(operator: Built) -> None:
    versions = "{re.sub('[-_.]+', '-', each.name).lower(): each.version for each in metadata.distributions()}"
    code = f"import json, re; from importlib import metadata; print(json.dumps({versions}))"
    installed = json.loads(inside_operator(operator, "-c", code))
    installed.pop("valkey-operator")
    text = (catalogue.PROJECT / "requirements.txt").read_text()
    pins = {name.lower(): (pin, marker) for name, pin, marker in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)( ;)?", text)}
    assert installed.items() <= {name: pin for name, (pin, _) in pins.items()}.items()
    assert {name for name, (_, marker) in pins.items() if not marker} <= set(installed)


def inside_operator(operator: Built, *arguments: str) -> str:
    python = ["chroot", "--userspec=65532:65532", str(operator.root), "/usr/bin/python3", *arguments]
    environment = dict(setting.split("=", 1) for setting in operator.config["Env"])
    done = subprocess.run(python, check=False, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_exporter_is_one_static_program_of_the_pinned_version() -> None:
    root = built(catalogue.redis_exporter()).root
    assert [path.name for path in root.iterdir()] == ["redis_exporter"]
    done = subprocess.run(
        ["chroot", str(root), "/redis_exporter", "--version"], check=True, capture_output=True, text=True
    )
    assert "Redis Metrics Exporter v1." in done.stdout + done.stderr


def test_the_sandbox_ends_on_sigterm() -> None:
    root = built(catalogue.pause()).root
    with subprocess.Popen(["chroot", str(root), "/usr/bin/catatonit", "-P"]) as sandbox:
        with pytest.raises(subprocess.TimeoutExpired):
            sandbox.wait(0.5)
        sandbox.terminate()
        assert sandbox.wait(5) == 0


@pytest.mark.parametrize("image", catalogue.catalogue(), ids=lambda image: image.title)
def test_another_program_can_read_every_archive(image: Image, tmp_path: Path) -> None:
    archive = build(image, image_cache(), print, Tools(uv=uv(image_cache(), print)))
    storage = ["--root", str(tmp_path / "root"), "--runroot", str(tmp_path / "run"), "--storage-driver", "vfs"]
    first = oci.full_name(image.name)
    subprocess.run(["buildah", *storage, "pull", "--quiet", f"oci-archive:{archive}:{first}"], check=True, timeout=60)
    listed = subprocess.check_output(["buildah", *storage, "images", "--json"], text=True, timeout=60)
    assert first in listed


def test_every_program_of_the_operator_finds_its_libraries(operator: Built) -> None:
    programs = "import valkey_operator.agent.main, valkey_operator.cli.operator; print('all there')"
    assert inside_operator(operator, "-c", programs).strip() == "all there"
