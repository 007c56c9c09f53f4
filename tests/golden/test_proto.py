"""The contract between operator and agents: generated code is fresh, and no field ever gets another number."""

import subprocess
import sys
from pathlib import Path

from google.protobuf.descriptor import Descriptor

from tests.support.golden import assert_matches_golden
from valkey_operator.proto.agent.v1 import agent_pb2 as pb

SOURCES = Path(__file__).parents[2] / "src"
PROTO = "valkey_operator/proto/agent/v1/agent.proto"


def test_the_generated_modules_are_those_of_the_proto_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={SOURCES}"]
    outputs = [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", str(SOURCES / PROTO)]
    subprocess.run([*command, *outputs], check=True, timeout=30)
    for made in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        kept = SOURCES / made.relative_to(tmp_path)
        assert made.read_text() == kept.read_text(), f"{kept.name} is stale: run 'make proto'"


def test_every_field_and_value_has_the_number_it_always_had() -> None:
    lines = []
    for message in pb.DESCRIPTOR.message_types_by_name.values():
        lines += fields(message)
    for enum in pb.DESCRIPTOR.enum_types_by_name.values():
        lines += [f"{enum.name}.{value.name} = {value.number}" for value in enum.values]
    for service in pb.DESCRIPTOR.services_by_name.values():
        for method in service.methods:
            lines.append(f"{service.name}.{method.name}({method.input_type.name}) -> {method.output_type.name}")
    assert_matches_golden(Path(__file__).parent / "proto" / "agent_v1.txt", "\n".join(sorted(lines)) + "\n")


def fields(message: Descriptor) -> list[str]:
    return [f"{message.name}.{field.name} = {field.number} type {field.type}" for field in message.fields]
