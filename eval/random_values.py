"""Values as random programs write them: near one that the knowledge base holds, in any spelling that KoPL reads."""

from __future__ import annotations

import datetime
import random

from bgr.kb.schema import Value

OTHER_VALUES = (Value("quantity", 1), Value("date", datetime.date(1960, 2, 1)), Value("year", 1960))
"""What qualifiers are compared with now and then: not every base has qualifiers of each type."""


def near(value: Value, rng: random.Random) -> tuple[str, str]:
    """Kind and text of a value near the given one, as a program writes it."""
    raw = value.value
    if value.type == "quantity":
        number = raw if rng.random() < 0.6 else float(raw) + rng.choice((-1, 1, 0.5))  # type: ignore[arg-type]
        return "quantity", str(number) if value.unit == "1" else f"{number} {value.unit}"
    if value.type == "date":
        iso = str(raw)
        if rng.random() < 0.3:
            return rng.choice(("year", "date")), str(int(iso[:4]))
        return rng.choice(("year", "date", "date")), iso.replace("-", rng.choice("-/"))
    if value.type == "year":
        text = str(raw)
        within = text.isdigit() and len(text) == 4 and rng.random() < 0.3
        return rng.choice(("year", "date")), f"{text}-07-01" if within else text
    return "string", str(raw)
