"""A Valkey module that does nothing but be there, made without a compiler, and an image that has it.

x86_64 only. The module is the smallest ELF file that a dynamic linker takes: one segment, one exported function, which
asks the server for the one call that a module must make (SetModuleAttribs), makes it, and says that all is well.
"""

import json
import struct
import tarfile
from pathlib import Path

from testbed.images.oci import Blobs, blob_path, digest, encode, index, read_config, read_manifest, write_archive
from testbed.images.tree import Entry, layer

MACHINE = "x86_64"
ON_LOAD = b"ValkeyModule_OnLoad"
_ASKED_FOR = b"ValkeyModule_SetModuleAttribs\0"
_HEADER, _PROGRAM, _SYMBOL = 64, 56, 24
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_HASH, _STRINGS, _SYMBOLS, _STRINGS_SIZE, _SYMBOL_SIZE = 4, 5, 6, 10, 11
_READ, _WRITE, _EXECUTE = 4, 2, 1


def machine_code(name: bytes) -> bytes:
    """The function OnLoad(ctx, argv, argc): ctx begins with the function that finds others by their names."""
    ask_at, name_at = 0x33, 0x33 + len(_ASKED_FOR)
    return b"".join(
        (
            b"\x53\x48\x83\xec\x10\x48\x89\xfb",  # push rbx; sub rsp, 16; mov rbx, rdi
            b"\x48\x8d\x3d" + struct.pack("<i", ask_at - 0x0F),  # lea rdi, [what is asked for]
            b"\x48\x89\xe6\xff\x13\x48\x89\xdf",  # mov rsi, rsp; call [rbx]; mov rdi, rbx
            b"\x48\x8d\x35" + struct.pack("<i", name_at - 0x1E),  # lea rsi, [name]
            b"\xba\x01\0\0\0\xb9\x01\0\0\0",  # mov edx, 1 (its version); mov ecx, 1 (that of the API)
            b"\xff\x14\x24\x31\xc0\x48\x83\xc4\x10\x5b\xc3",  # call [rsp]; xor eax, eax; add rsp, 16; pop rbx; ret
            _ASKED_FOR,
            name + b"\0",
        )
    )


def tiny_module(name: str) -> bytes:
    """A shared library that is a module of this name."""
    code = machine_code(name.encode())
    strings = b"\0" + ON_LOAD + b"\0"
    hashes_at = _HEADER + 3 * _PROGRAM
    symbols_at = hashes_at + 24
    dynamic_at = symbols_at + 2 * _SYMBOL
    strings_at = dynamic_at + 6 * 16
    code_at = strings_at + len(strings)
    size = code_at + len(code)
    dynamic = {
        _HASH: hashes_at,
        _STRINGS: strings_at,
        _SYMBOLS: symbols_at,
        _STRINGS_SIZE: len(strings),
        _SYMBOL_SIZE: _SYMBOL,
        0: 0,
    }
    return b"".join(
        (
            b"\x7fELF\x02\x01\x01" + bytes(9),
            struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, _HEADER, 0, 0, _HEADER, _PROGRAM, 3, 0, 0, 0),
            _program(_LOAD, _READ | _WRITE | _EXECUTE, 0, size, align=0x1000),
            _program(_DYNAMIC, _READ | _WRITE, dynamic_at, 6 * 16, align=8),
            _program(_STACK, _READ | _WRITE, 0, 0, align=16),
            struct.pack("<IIIIII", 1, 2, 1, 0, 0, 0),  # one bucket, two symbols, the second is the first in it
            bytes(_SYMBOL),
            struct.pack("<IBBHQQ", 1, 0x12, 0, 1, code_at, len(code)),
            b"".join(struct.pack("<qQ", tag, value) for tag, value in dynamic.items()),
            strings,
            code,
        )
    )


def _program(kind: int, flags: int, at: int, size: int, *, align: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, align)


def with_files(archive: Path, out: Path, name: str, files: dict[str, bytes]) -> None:
    """Another image: that of the archive with executable files in one more layer."""
    blobs = Blobs()
    top = layer(Entry(path, 0o755, data) for path, data in files.items())
    manifest, config = read_manifest(archive), read_config(archive)
    with tarfile.open(archive) as tar:
        for below in manifest["layers"]:
            content = tar.extractfile(blob_path(below))
            blobs.add("layer.v1.tar", content.read() if content else b"")
    manifest["layers"].append(blobs.add("layer.v1.tar", top))
    config["rootfs"]["diff_ids"].append(digest(top))
    config.pop("history", None)
    manifest["config"] = blobs.add("config.v1+json", json.dumps(config).encode())
    described = blobs.add("manifest.v1+json", encode(manifest))
    write_archive(out, encode(index(described, [name])), blobs.content.items())
