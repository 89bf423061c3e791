import pytest

from bgr.utils.probability import two_digits


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1.00"), (0.9999, "0.99"), (0.995, "0.99"), (0.984, "0.98"), (0.0, "0.00")]
)
def test_only_one_reads_one(value, text):
    assert two_digits(value) == text
