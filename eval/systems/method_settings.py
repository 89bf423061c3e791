"""Settings of the methods on passages: from a file (`configs/gear_musique.yaml`), and single ones by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import yaml

from bgr.errors import BgrError, DataError
from bgr.released import find_config
from bgr.retrievers.bridgerag.steps import BridgeSettings
from bgr.retrievers.gear.steps import GearSettings
from bgr.retrievers.hipporag.steps import HippoSettings
from bgr.retrievers.ircot.steps import IrcotSettings
from bgr.retrievers.prism.run import PrismSettings
from bgr.retrievers.rerank.steps import RerankSettings
from bgr.utils.error_text import did_you_mean
from bgr.utils.options import kind_of

S = TypeVar("S")

_COMMA = re.compile(r",(?![^\[]*\])")


@dataclass(frozen=True)
class MethodSettings:
    """The settings of every method; NaiveGE and SyncGE have those of GEAR."""

    gear: GearSettings = field(default_factory=GearSettings)
    prism: PrismSettings = field(default_factory=PrismSettings)
    bridgerag: BridgeSettings = field(default_factory=BridgeSettings)
    ircot: IrcotSettings = field(default_factory=IrcotSettings)
    hipporag: HippoSettings = field(default_factory=HippoSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)

    @classmethod
    def read(cls, texts: Sequence[str]) -> MethodSettings:
        """The defaults with changes, of which later ones take precedence.

        Args:
            texts: ``METHOD.KEY=VALUE``, such as ``gear.beam.width=5``, or a YAML file (also the name of a shipped one)
                with methods, keys and values.

        Raises:
            BgrError: a file, a key or a value is not valid.
        """
        found = cls()
        for text in texts:
            if "=" in text:
                found = changed(found, parse_changes(text, "--settings"), "--settings")
            else:
                path = find_config(text)
                found = changed(found, _read_file(path), str(path))
        return found


def parse_changes(text: str, where: str) -> dict[str, Any]:
    """``KEY=VALUE,KEY=VALUE`` as a mapping; values are YAML. BgrError for any other text."""
    changes = {}
    for part in _COMMA.split(text):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise BgrError(f"{where}: {part!r}; allowed: KEY=VALUE, such as beam.width=5")
        try:
            changes[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise BgrError(f"{where}: {part!r}: the value is not valid YAML") from None
    return changes


def changed(settings: S, changes: Mapping[str, Any], where: str) -> S:
    """A dataclass of settings with some values changed.

    Args:
        changes: values by key; a key of nested settings is ``beam.width``, or ``beam`` with a mapping.

    Raises:
        BgrError: a key is unknown, or a value is not allowed.
    """
    known = {one.name: one for one in fields(settings)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in changes.items():
        name, dot, rest = str(key).partition(".")
        if name not in known:
            raise BgrError(f"{where}: unknown setting {name!r}, known: {', '.join(known)}{did_you_mean(name, known)}")
        before = values.get(name, getattr(settings, name))
        if is_dataclass(before):
            inner = {rest: value} if dot else value
            if not isinstance(inner, Mapping):
                raise BgrError(f"{where}: {name}: {value!r}; allowed: keys and values")
            values[name] = changed(before, inner, f"{where}: {name}")
        elif dot:
            raise BgrError(f"{where}: {name} has no setting {rest!r}")
        else:
            values[name] = _converted(type(settings), known[name], value, where)
    try:
        return replace(settings, **values)  # type: ignore[type-var]
    except ValueError as error:
        raise BgrError(f"{where}: {error}") from None


def _converted(owner: Any, one: Any, value: Any, where: str) -> Any:
    try:
        if get_type_hints(owner)[one.name] is str and not isinstance(value, str):
            raise ValueError(f"{value!r}: allowed: a text")
        return kind_of(owner, one).convert(value)
    except ValueError as error:
        raise BgrError(f"{where}: {one.name}: {error}") from None


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{path}: not a YAML file: {' '.join(str(error).split())}") from None
    if not isinstance(found, Mapping):
        raise DataError(f"{path}: allowed: methods with their settings")
    return found
