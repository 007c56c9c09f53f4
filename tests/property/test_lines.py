from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.kube.lines import LineBuffer

texts = st.lists(st.binary(min_size=1).map(lambda line: line.replace(b"\n", b"_")))


@given(texts, st.data())
def test_lines_come_out_whole_wherever_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    buffer = LineBuffer()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += buffer.feed(stream[start:end])
    assert found == lines


def test_a_line_of_many_megabytes_is_one_line() -> None:
    buffer = LineBuffer()
    parts = [b"x" * 65536] * 256
    assert [line for part in parts for line in buffer.feed(part)] == []
    assert buffer.feed(b"\n") == [b"".join(parts)]
