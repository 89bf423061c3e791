"""How a probability is written."""


def two_digits(probability: float) -> str:
    """A probability with two digits; what is not 1 never reads 1.00."""
    return f"{probability if probability >= 1 else min(probability, 0.99):.2f}"
