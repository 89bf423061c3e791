import pytest

from bgr.errors import DataError
from bgr.utils.cache import KeptChunks, name_of

NAME = name_of("model", "a sentence")


def test_kept_and_found_again(tmp_path):
    kept = KeptChunks(tmp_path / "work", "vectors")
    assert kept.load(NAME) is None
    kept.save(NAME, b"body")
    assert kept.load(NAME) == b"body"
    assert KeptChunks(tmp_path / "work", "sentences").load(NAME) is None
    kept.save(NAME, b"")
    assert kept.load(NAME) == b""


@pytest.mark.parametrize(
    "harm", [lambda raw: raw[:-1], lambda raw: raw[:10], lambda raw: b"x" + raw[1:], lambda _: b""]
)
def test_a_damaged_chunk_counts_as_none(tmp_path, harm):
    kept = KeptChunks(tmp_path, "vectors")
    kept.save(NAME, b"body")
    [file] = tmp_path.iterdir()
    file.write_bytes(harm(file.read_bytes()))
    assert kept.load(NAME) is None


def test_clearing_leaves_what_is_not_ours(tmp_path):
    kept = KeptChunks(tmp_path / "work", "vectors")
    kept.clear()  # nothing there yet
    kept.save(NAME, b"body")
    (kept.folder / f"{NAME}.vectors.abc.half").write_bytes(b"of a killed run")
    (kept.folder / f"{NAME}.sentences").write_bytes(b"another kind")
    kept.clear()
    assert [file.name for file in kept.folder.iterdir()] == [f"{NAME}.sentences"]
    KeptChunks(kept.folder, "sentences").clear()
    assert not kept.folder.exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        KeptChunks(tmp_path / "file", "vectors").save(NAME, b"body")


def test_names_tell_parts_apart():
    assert name_of("ab", "c") != name_of("a", "bc") != name_of("abc")
    assert len(NAME) == 64
