"""The configuration of an extractive reader is checked before a model of that size is made."""

import json
import shutil
from pathlib import Path

import pytest

from bgr.errors import BgrError
from bgr.reader.loading import load_reader

SHIPPED = Path(__file__).parents[3] / "checkpoints" / "atlas" / "reader"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"layers": 10**6}, "layers is 1000000, allowed: 1000 or less"),
        ({"layers": 500}, "layers is 500, allowed: less than or equal to 100"),
        ({"layers": "3"}, "layers is '3', usually it is"),
        ({"width": 10**9 * 64}, "width is 64000000000, allowed"),
        ({"labels": [1]}, "labels.0 is 1, allowed: a valid string"),
        ({"units": "kg"}, "units is 'kg', usually it is"),
        ({"question_tokens": 0}, "question_tokens is 0, allowed"),
        ({"dropout": 7}, "dropout is 7, allowed"),
        ({"colour": 1}, "unknown field 'colour'"),
    ],
)
def test_limits(change, said, tmp_path):
    for name in ("reader.json", "config.json"):
        shutil.copy(SHIPPED / name, tmp_path / name)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(BgrError) as error:
        load_reader(tmp_path, device="cpu")
    assert str(error.value).startswith(f"{path}: {said}")
    assert "\n" not in str(error.value)
