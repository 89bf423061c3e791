"""Where a server is and with which key, without letting either's secrets out."""

from __future__ import annotations

import os
from urllib.parse import urlsplit, urlunsplit

from bgr.errors import BgrError


def key_in(variable: str) -> str:
    """The key; an empty string where the variable is not set.

    Raises:
        BgrError: it holds characters that no HTTP header can carry (they are not shown).
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise BgrError(f"environment variable {variable}: not a key: it holds characters that no header can carry")
    return key


def public_address(url: str) -> str:
    """An address without user name, password and query.

    Raises:
        BgrError: it is none of HTTP.
    """
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise BgrError("base_url: not an address like http://localhost:8000/v1")
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
