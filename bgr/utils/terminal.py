"""Colors on terminals, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self, TextIO

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
