"""Random texts to the parsers of our own: the reader of large JSON files, edges in free text, and hashes of folders.

Each either reads what a plain reference reads, or refuses in one line; none hangs or raises anything else.
"""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bgr.data.json_stream import read_items
from bgr.errors import CheckpointError, DataError
from bgr.graph.evidence_graph import ROOT
from bgr.retrievers.llm_graph.forms import MAX_READ, Numbers, arrows
from bgr.utils.checksums import SUMS, read_sums
from bgr.utils.json_utils import unique_keys

PIECES = st.sampled_from(
    [
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        '"',
        "\\",
        "\\u",
        "d800",
        "1",
        "-",
        "0",
        ".5",
        "e9",
        "E+999",
        "true",
        "nul",
        "NaN",
        " ",
    ]
    + ["\n", "\t", "\x00", "é", "🎬", "\ud800", "Infinity", '"a"', "[[", "]]", "{}", '{"a":1}', "//", "'"]
)
JSON_LIKE = st.lists(PIECES, max_size=40).map("".join)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@given(text=JSON_LIKE | st.text(max_size=60), block=st.integers(1, 70))
@example(text="[" * 100_000, block=64)
@example(text='["' + "x" * 500 + '"]', block=1)
def test_the_reader_of_large_files_reads_what_json_reads(place, text, block):
    path = place / "items.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        expected = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        expected = None
    try:
        found = list(read_items(path, block=block))
    except DataError as error:
        found, said = None, str(error)
    if found is None:
        assert not isinstance(expected, list)
        assert "\n" not in said
        return
    assert repr(found) == repr(expected)  # NaN equals itself in writing


LABELS = st.sampled_from(["Q", "q", "F1", "F2", "f9", "3", "12", "0", "-1", "the question", "[2]", "fact 3", "Q1", "F"])
ARROWS = st.sampled_from([" -> ", "->", " --> ", "=>", "→", " - ", ",", "\n", " -> -> ", ";", " " * 12 + "->", ")"])


@given(st.lists(st.one_of(LABELS, ARROWS, st.text(max_size=3)), max_size=60).map("".join), st.integers(0, 12))
@example("Q" + " " * MAX_READ + "-> 1", 3)
@example("Q -> " * 5_000, 3)
@example("1->" * 10_000, 12)
def test_edges_of_free_text_have_known_ends(text, facts):
    found = arrows(text, Numbers(facts))
    for a, b in found or []:
        assert ROOT <= a < facts
        assert ROOT <= b < facts  # `repair` drops what leads to the question


DIGEST = st.sampled_from(["a" * 64, "0" * 63, "g" * 64, "A" * 64, ""])
NAME = st.sampled_from(
    ["model.safetensors", "forward/config.json", "../x", "/etc/passwd", "a/../../b", "", ".", "é", "\x00"]
)


@given(
    st.lists(
        st.tuples(DIGEST, st.sampled_from(["  ", " *", " ", "\t"]), NAME).map("".join) | st.text(max_size=20),
        max_size=6,
    )
)
def test_no_name_in_hashes_leads_out_of_the_folder(place, lines):
    said = ""
    (place / SUMS).write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    try:
        found = read_sums(place)
    except CheckpointError as error:
        found, said = {}, str(error)
        lines = said.splitlines()
    assert not said or len(lines) == 1
    for name in found:
        assert (place / name).resolve().is_relative_to(place.resolve())
