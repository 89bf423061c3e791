"""Text for boxes and terminals: cleaned, measured, wrapped, and colored on terminals only."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Self, TextIO

FONT = 8.0
"""Font size in points."""

MAX_LINES = 9


def clean(text: str) -> str:
    """The text on one line without control characters, for untrusted text on terminals and pages."""
    return " ".join(clean_line(text).split())


def clean_line(text: str) -> str:
    """The text without control characters, which may move the cursor, reverse the direction of text or set the title of
    a terminal; tabs and spaces stay."""
    return "".join(c if c == "\t" or unicodedata.category(c)[0] != "C" else " " for c in text)


def wrap(text: str, width: float) -> tuple[str, ...]:
    """Break a text into at most `MAX_LINES` lines of at most `width` points, the last one cut with an ellipsis."""
    lines = [""]
    for word in _pieces(text, width):
        if text_width(f"{lines[-1]} {word}".strip()) <= width:
            lines[-1] = f"{lines[-1]} {word}".strip()
        elif len(lines) > MAX_LINES:
            break  # the rest of a long text is not measured
        else:
            lines.append(word)
    lines = [line for line in lines if line] or [""]
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], lines[MAX_LINES - 1][:-1].rstrip() + "…"]
    return tuple(lines)


def _pieces(text: str, width: float) -> Iterator[str]:
    """The words of a text; one that is wider than a line in pieces that fill a line each, and the rest."""
    for word in text.split():
        start, filled = 0, 0.0
        for at, char in enumerate(word):
            filled += text_width(char)
            if filled > width and at > start:
                yield word[start:at]
                start, filled = at, text_width(char)
        yield word[start:]


def text_width(text: str) -> float:
    """Approximate width of a text in points, for DejaVu Sans and Verdana; narrower fonts fit as well."""
    return FONT * sum(_em(c) for c in text)


def _em(char: str) -> float:
    if char in " .,:;'|!ijlI()[]ft/":
        return 0.39
    if char in "mwMW@%—…":
        return 0.98
    if unicodedata.east_asian_width(char) in "WF":
        return 1.1
    return 0.72 if char.isupper() else 0.64


def two_digits(probability: float) -> str:
    """A probability with two digits; what is not 1 never reads 1.00."""
    return f"{probability if probability >= 1 else min(probability, 0.99):.2f}"


Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]

_CODES: Mapping[Style, int] = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
"""Parameters of the control sequence SGR (ECMA-48), which all terminals share."""


def has_color(stream: TextIO | None, environment: Mapping[str, str] | None = None) -> bool:
    """Whether text for this stream is colored: on terminals, except those with ``TERM=dumb``.

    A variable that is not empty overrides this: ``NO_COLOR`` turns colors off, and otherwise ``FORCE_COLOR`` turns them
    on (0 means off).
    """
    variables = os.environ if environment is None else environment
    if variables.get("NO_COLOR"):
        return False
    if forced := variables.get("FORCE_COLOR"):
        return forced != "0"
    if variables.get("TERM") == "dumb" or stream is None:
        return False
    return stream.isatty()


@dataclass(frozen=True)
class Paint:
    """Styles text for one stream; with `on` false, text stays as it is.

    >>> Paint(True)("0.97", "dim")
    '\\x1b[2m0.97\\x1b[0m'
    """

    on: bool = False

    def __call__(self, text: str, *styles: Style) -> str:
        if not (self.on and text and styles):
            return text
        return f"\x1b[{';'.join(str(_CODES[style]) for style in styles)}m{text}\x1b[0m"

    @classmethod
    def of(cls, stream: TextIO | None) -> Self:
        return cls(has_color(stream))


PLAIN = Paint(False)
