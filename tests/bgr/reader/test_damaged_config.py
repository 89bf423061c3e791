"""Any field of a reader's files may be wrong: it is one line, and no memory is used for sizes that nobody stored."""

import json
import resource
import time

import pytest

from bgr.errors import BgrError
from bgr.reader.loading import load_reader

VALUES = ("x", -1, 0, 10**6, 10**18, 2.5, True, None, [], {}, [1], "1")
SLOW_SECONDS = 20


def outcomes(folder, name, harms):
    """What loading says after each change of a JSON file."""
    path = folder / name
    text = path.read_text()
    for what, harm in harms(json.loads(text)):
        path.write_text(json.dumps(harm))
        start = time.monotonic()
        try:
            load_reader(folder, device="cpu")
            yield what, ""
        except BgrError as error:
            yield what, str(error)
        assert time.monotonic() - start < SLOW_SECONDS, what
    path.write_text(text)


def every_field(record):
    """Some other values for every field, and other values for the whole file."""
    for number, field in enumerate(record):
        for value in VALUES[number % 3 :: 3]:
            yield f"{field} {value!r}", {**record, field: value}
    for value in VALUES:
        yield f"all {value!r}", value


@pytest.fixture
def t5(make_reader, tmp_path):
    make_reader().save(tmp_path)
    return tmp_path


@pytest.mark.workflow
@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer_config.json", "reader.json"])
def test_every_wrong_field_of_a_t5_is_one_line(name, t5):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for what, said in outcomes(t5, name, every_field):
        assert "\n" not in said, what
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2_000_000, "kB"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"d_ff": "x"}, "d_ff is 'x', usually it is"),
        ({"num_layers": 10**6}, "num_layers is 1000000, allowed: 1000 or less"),
        ({"num_decoder_layers": 10**6}, "num_decoder_layers is 1000000, allowed: 1000 or less"),
        ({"d_ff": 10**9}, "weights, model.safetensors holds"),
        ({"model_type": "bert"}, "does not describe a valid encoder-decoder"),
        ({"model_type": "oops"}, "model_type is 'oops'"),
    ],
)
def test_sizes_of_a_t5_are_checked_before_it_is_made(change, said, t5):
    path = t5 / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(BgrError) as error:
        load_reader(t5, device="cpu")
    assert str(error.value).startswith(f"{path}: ")
    assert said in str(error.value)
