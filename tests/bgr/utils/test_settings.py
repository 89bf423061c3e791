"""Settings in files: values are not converted, and one line names all problems."""

import json
from dataclasses import dataclass, field
from typing import Annotated

import pytest
from pydantic import AfterValidator, Field

from bgr.errors import CheckpointError, DataError
from bgr.utils.settings import STRICT, load_settings, one_of, problems, save_settings


@dataclass(frozen=True)
class Settings:
    __pydantic_config__ = STRICT

    name: Annotated[str, AfterValidator(one_of(("small", "large")))]
    words: tuple[str, ...] = ()
    size: Annotated[int, Field(ge=1, le=9)] = 5
    shares: dict[str, float] = field(default_factory=dict)
    format: int = 2


GOOD = {"name": "small", "words": ["a", "b"], "size": 3, "shares": {"dev": 1}, "format": 2}


def test_saved_and_loaded(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(GOOD))
    settings = load_settings(path, Settings, "thing")
    assert settings == Settings("small", ("a", "b"), 3, {"dev": 1.0})
    save_settings(path, settings)
    assert load_settings(path, Settings, "thing") == settings
    assert list(json.loads(path.read_text())) == ["format", "name", "shares", "size", "words"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 1}, r"s\.json: not a thing of format 2; it is of format 1, .*: train it again$"),
        ({"format": 3}, r"s\.json: not a thing of format 2$"),
        ({"colour": 1}, "unknown field 'colour'$"),
        ({"name": "huge"}, "name is 'huge', allowed: small, large$"),
        ({"size": 10}, "size is 10, allowed: less than or equal to 9$"),
        ({"size": True}, "size is True, allowed: a valid integer$"),
        ({"size": 2.0}, "size is 2.0, allowed: a valid integer$"),
        ({"words": ["a", 3]}, r"words\.1 is 3, allowed: a valid string$"),
        ({"shares": {"dev": float("nan")}}, r"shares\.dev is nan, allowed: a finite number$"),
        ({"shares": {"dev": "1"}, "size": 0}, r"size is 0, .*; shares\.dev is '1', allowed: a valid number$"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, said):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(CheckpointError, match=said) as caught:
        load_settings(path, Settings, "thing")
    assert "\n" not in str(caught.value)


def test_missing_fields_and_files(tmp_path):
    path = tmp_path / "s.json"
    path.write_text('{"format": 2}')
    with pytest.raises(CheckpointError, match=r"s\.json: name is missing$"):
        load_settings(path, Settings, "thing")
    path.write_text("[]")
    with pytest.raises(CheckpointError, match="not a thing of format 2"):
        load_settings(path, Settings, "thing")
    with pytest.raises(DataError, match="no such file"):
        load_settings(tmp_path / "none", Settings, "thing")


def test_values_without_a_file():
    assert problems(list[int], [1, 2]) == []
    assert "Invalid JSON" in problems(Settings, GOOD | {"name": "\ud800"})[0]
