"""Reading of languages, scripts, families and languages of countries, joined by the codes of ISO 639-3.

From language-data come CLDR (scripts, speakers, use in countries), IANA's registry (macrolanguages, sign languages) and
Wiktionary's list of languages (the nearest family); from pycountry ISO's codes and names.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bgr.data.atlas.sources.countries import LANGUAGE_CODES
from bgr.data.atlas.sources.packages import package_file, unique
from bgr.errors import DataError
from bgr.utils.atomic_io import read_json

# digits of a number of speakers; CLDR gives shares with two
_DIGITS = 2

# ISO 639-3 codes of languages that the film data names otherwise, or whose name is also that of something else
_NAMES = {
    "abk": "Abkhaz", "aju": "Judeo-Moroccan", "cjy": "Jin", "gul": "Gullah", "ipk": "Iñupiaq", "jam": "Jamaican Patois",
    "ktz": "Juǀʼhoansi", "kxd": "Brunei Malay", "lug": "Luganda", "mni": "Meitei", "mos": "Mooré", "rom": "Romani",
    "shu": "Shuwa", "soh": "Aka (Sudan)", "tkl": "Tokelauan", "tmh": "Tuareg", "trv": "Seediq", "tts": "Isan",
    "tvl": "Tuvaluan", "yua": "Yucatec Maya",
}  # fmt: skip
_TYPES = {"L": "living", "E": "extinct", "H": "historical", "A": "ancient", "C": "constructed", "S": None}
_STATUSES = {
    "official": "official",
    "de_facto_official": "de facto official",
    "official_regional": "regionally official",
}

# by the first digit of ISO 15924's number (the standard's ranges of numbers)
_SCRIPT_TYPES = {
    "0": "hieroglyphic or cuneiform script", "1": "alphabet", "2": "alphabet", "3": "alphasyllabary", "4": "syllabary",
    "5": "ideographic script",
}  # fmt: skip
_DIRECTIONS = {"1": "right to left", "2": "left to right"}
# written in columns or in several directions, whatever the range of their number says
_OTHER_DIRECTIONS = frozenset(("Cari", "Ital", "Mong", "Narb", "Runr", "Tfng"))
# scripts whose usual name is not the first words of ISO's
_SCRIPT_NAMES = {
    "Cans": "Canadian Aboriginal syllabic", "Cprt": "Cypriot", "Egyp": "Egyptian hieroglyphic",
    "Hans": "Simplified Chinese", "Hant": "Traditional Chinese", "Mymr": "Burmese", "Orya": "Odia",
}  # fmt: skip
_FIRST_SPECIAL = 600
"""Numbers of undeciphered scripts, of notations other than writing, and of private use start here."""
# entries of Wiktionary's list that are no families
_NOT_FAMILIES = frozenset(("", "constructed", "creole or pidgin", "isolate", "mixed", "not a family", "sign"))


@dataclass(frozen=True, slots=True)
class Script:
    """A script of ISO 15924: its code of four letters, and what the range of its number says."""

    code: str
    name: str
    type: str | None
    direction: str | None


@dataclass(frozen=True, slots=True)
class Language:
    """A language of ISO 639-3.

    Args:
        code: ISO 639-3's code of three letters; ``short`` is ISO 639-1's of two.
        type: one of the values of `_TYPES`.
        macrolanguage: code of the macrolanguage that it is a variety of.
        family: name of the nearest family.
        scripts: ISO 15924 codes.
        speakers: people who speak it as a first or a later language.
    """

    code: str
    name: str
    type: str | None = None
    short: str | None = None
    macrolanguage: str | None = None
    family: str | None = None
    is_macrolanguage: bool = False
    is_signed: bool = False
    scripts: tuple[str, ...] = ()
    speakers: int | None = None

    @property
    def described(self) -> bool:
        """True if more is known than its code, its family and whether it is alive."""
        known = (self.short, self.macrolanguage, self.is_macrolanguage, self.is_signed, self.scripts, self.speakers)
        return self.type == "constructed" or any(known)


@dataclass(frozen=True, slots=True)
class Use:
    """A language (ISO 639-3) in a territory, with the percentage of people who speak it and its official status."""

    language: str
    share: float | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Territory:
    """CLDR's numbers of a country (ISO 3166-1): literacy in percent, GDP in dollars by purchasing power."""

    code: str
    literacy: float | None
    gdp: float | None
    uses: tuple[Use, ...]


@dataclass(frozen=True)
class LanguageData:
    """All languages and scripts by code, all territories, and the official names of countries by code."""

    languages: Mapping[str, Language]
    scripts: Mapping[str, Script]
    territories: Sequence[Territory]
    official_names: Mapping[str, str]


def read_languages() -> LanguageData:
    """All languages and scripts of the two packages.

    Raises:
        DataError: a package is not installed, or one of its files is missing or malformed.
    """
    cldr = package_file("language-data", "data", "supplementalData.xml")
    registry = package_file("language-data", "data", "language-subtag-registry.txt").read_text(encoding="utf-8")
    families = package_file("language-data", "data", "wiktionary", "codes-en.csv").read_text(encoding="utf-8")
    try:
        root = ET.parse(cldr, ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))).getroot()
    except ET.ParseError as error:
        raise DataError(f"{cldr}: not valid XML: {error}") from None
    tables = (_iso("639-3"), _iso("15924"), _iso("3166-1"))
    return join_languages(*tables, root, parse_registry(registry), parse_families(families))


def _iso(standard: str) -> list[dict[str, str]]:
    path = package_file("pycountry", "databases", f"iso{standard}.json")
    content = read_json(path)
    if standard not in content:
        raise DataError(f"{path}: no list {standard!r}, only {sorted(content)}")
    records: list[dict[str, str]] = content[standard]
    return records


def parse_registry(text: str) -> list[dict[str, str]]:
    """The records of IANA's registry of language subtags; of a repeated field, the first value."""
    records = []
    for block in text.split("\n%%\n"):
        fields: dict[str, str] = {}
        for line in block.splitlines():
            key, colon, value = line.partition(": ")
            if colon and not line.startswith(" "):
                fields.setdefault(key, value)
        records.append(fields)
    return records


def parse_families(text: str) -> dict[str, str]:
    """Names of families, as ``Romance languages``, by the code that Wiktionary's list has in its first column.

    Raises:
        DataError: a line without the column of families.
    """
    families = {}
    for number, line in enumerate(text.splitlines(), 1):
        code, *rest = line.split("\t")
        if len(rest) < 2:
            raise DataError(f"codes-en.csv, line {number}: {line!r}, allowed: a code, a name and a family, with tabs")
        if rest[1] not in _NOT_FAMILIES:
            families[code] = f"{rest[1]} languages"
    return families


def join_languages(
    languages: Iterable[Mapping[str, str]],
    scripts: Iterable[Mapping[str, str]],
    countries: Iterable[Mapping[str, str]],
    cldr: ET.Element,
    registry: Sequence[Mapping[str, str]],
    families: Mapping[str, str],
) -> LanguageData:
    """Languages, scripts and countries of ISO with what CLDR, IANA and Wiktionary say of them.

    Raises:
        DataError: a record without its code or name, an unknown type or status, or an invalid number.
    """
    records = {_field(row, "alpha_3", "ISO 639-3"): row for row in languages}
    codes = {code: code for code in records} | {row["alpha_2"]: c for c, row in records.items() if "alpha_2" in row}
    known_scripts = dict(_scripts(scripts))
    written = _written(cldr, codes, known_scripts)
    territories = list(_territories(cldr, codes))
    speakers = {c: n for c, n in _speakers(cldr, territories).items() if _type(records[c]) == "living"}
    names = _names(records, _english_names(cldr, codes))
    registered = [(codes.get(row.get("Subtag", "")), row) for row in registry]
    wholes = {code: codes.get(row["Macrolanguage"]) for code, row in registered if "Macrolanguage" in row}
    signed = {code for code, row in registered if row.get("Prefix") == "sgn"}
    # the count of a macrolanguage leaves out those who count for one of its languages (Kurdish, Chinese)
    split = {whole for code, whole in wholes.items() if code in speakers}
    found = {
        code: Language(
            code,
            names[code],
            type=_type(row),
            short=row.get("alpha_2"),
            macrolanguage=wholes.get(code),
            family=families.get(row.get("alpha_2", code)),
            is_macrolanguage=row.get("scope") == "M",
            is_signed=code in signed,
            scripts=written.get(code, ()),
            speakers=None if code in split else speakers.get(code),
        )
        for code, row in records.items()
    }
    return LanguageData(found, known_scripts, territories, _official_names(countries))


def _field(row: Mapping[str, str], key: str, where: str) -> str:
    if not row.get(key):
        raise DataError(f"{where}: a record without {key}: {dict(row)}")
    return row[key]


def _type(row: Mapping[str, str]) -> str | None:
    if row.get("type") not in _TYPES:
        raise DataError(f"ISO 639-3, {row['alpha_3']}: type {row.get('type')!r}, allowed: {sorted(_TYPES)}")
    return _TYPES[row["type"]]


def _scripts(rows: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, Script]]:
    """The scripts that write languages and are deciphered, by code."""
    for row in rows:
        code, number, name = (_field(row, key, "ISO 15924") for key in ("alpha_4", "numeric", "name"))
        if not re.fullmatch(r"\d{3}", number):
            raise DataError(f"ISO 15924, {code}: number {number!r}, allowed: three digits")
        if int(number) >= _FIRST_SPECIAL:
            continue
        # a mixture of scripts, such as Japanese, or a subset has a number of its own that says nothing
        mixed = "alias for" in name
        direction = None if mixed or code in _OTHER_DIRECTIONS else _DIRECTIONS.get(number[0])
        yield code, Script(code, script_name(code, name), None if mixed else _SCRIPT_TYPES[number[0]], direction)


def script_name(code: str, name: str) -> str:
    """A name that is no language's: ``Devanagari script`` for ``Devanagari (Nagari)``, variants in full."""
    variant = re.fullmatch(r"(.*) \((.*) variant\)(.*)", name)
    if code not in _SCRIPT_NAMES and variant:
        base, kind, rest = variant.groups()
        return f"{kind} {base} script{rest}"
    first = re.sub(r"(, | \().*", "", name).removesuffix(" script")
    return f"{_SCRIPT_NAMES.get(code, first)} script".replace("’", "'")


def _written(cldr: ET.Element, codes: Mapping[str, str], scripts: Mapping[str, Script]) -> dict[str, tuple[str, ...]]:
    """Scripts by language: the customary ones, or if there are none the secondary ones (Sanskrit, Etruscan)."""
    found: dict[bool, dict[str, list[str]]] = {False: {}, True: {}}
    for row in cldr.iterfind("languageData/language"):
        code = codes.get(row.get("type", ""))
        used = [script for script in row.get("scripts", "").split() if script in scripts]
        if code and used:
            found[row.get("alt") == "secondary"].setdefault(code, []).extend(used)
    return {code: tuple(unique(used)) for code, used in {**found[True], **found[False]}.items()}


def _number(row: ET.Element, key: str, where: str, top: float = float("inf")) -> float:
    try:
        number = float(row.get(key, "0"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= top:
        raise DataError(f"CLDR, {where}: {key} {row.get(key)!r}, allowed: a number from 0 to {top:g}")
    return number


def _territories(cldr: ET.Element, codes: Mapping[str, str]) -> Iterator[Territory]:
    """The territories; of a language in several scripts (``sr``, ``sr_Latn``) the largest share, not the sum."""
    for row in cldr.iterfind("territoryInfo/territory"):
        place = _field(row.attrib, "type", "CLDR, territoryInfo")
        shares: dict[str, float] = defaultdict(float)
        statuses: dict[str, str] = {}
        for use in row.iterfind("languagePopulation"):
            tag, status = use.get("type", ""), use.get("officialStatus")
            code = codes.get(tag.split("_")[0])
            if status not in (None, *_STATUSES):
                raise DataError(f"CLDR, {place} {tag}: officialStatus {status!r}, allowed: {sorted(_STATUSES)}")
            if code is None:
                continue
            shares[code] = max(shares[code], _number(use, "populationPercent", f"{place} {tag}", 100))
            if status is not None:
                statuses.setdefault(code, _STATUSES[status])
        uses = (Use(code, share or None, statuses.get(code)) for code, share in shares.items())
        yield Territory(
            place,
            _number(row, "literacyPercent", place, 100) or None,
            _number(row, "gdp", place) or None,
            tuple(use for use in uses if use.share or use.status),
        )


def _speakers(cldr: ET.Element, territories: Iterable[Territory]) -> dict[str, int]:
    """Speakers by language, of a first or a later one: population times share, summed and rounded to two digits."""
    rows = cldr.iterfind("territoryInfo/territory")
    people = {row.get("type"): _number(row, "population", str(row.get("type"))) for row in rows}
    total: dict[str, float] = defaultdict(float)
    for territory in territories:
        for use in territory.uses:
            total[use.language] += people[territory.code] * (use.share or 0) / 100
    rounded = {code: int(float(f"{number:.{_DIGITS}g}")) for code, number in total.items()}
    return {code: number for code, number in rounded.items() if number}


def _english_names(cldr: ET.Element, codes: Mapping[str, str]) -> dict[str, str]:
    """CLDR's English names, which stand in a comment after each language of a territory."""
    names = {}
    for territory in cldr.iterfind("territoryInfo/territory"):
        for use, note in pairwise(territory):
            code = codes.get(str(use.get("type"))) if use.tag == "languagePopulation" else None
            if code and note.tag is ET.Comment and (note.text or "").strip():
                names[code] = str(note.text).strip().replace("[", "(").replace("]", ")")
    return names


def _names(records: Mapping[str, Mapping[str, str]], english: Mapping[str, str]) -> dict[str, str]:
    """Atlas' name of each language: a usual English one; ISO's words in brackets only if names would meet."""
    chosen = {}
    for code, row in records.items():
        name = LANGUAGE_CODES.get(row.get("alpha_2", code)) or _NAMES.get(code) or english.get(code)
        chosen[code] = name or re.sub(r" \(.*\)$", "", _field(row, "name", f"ISO 639-3, {code}"))
    shared = Counter(chosen.values())
    usual = {*english, *_NAMES, *(c for c, row in records.items() if row.get("alpha_2") in LANGUAGE_CODES)}
    full = {c: n if shared[n] == 1 or c in usual else records[c]["name"] for c, n in chosen.items()}
    taken = Counter(full.values())
    return {c: n if taken[n] == 1 or c in usual else f"{n} (individual language)" for c, n in full.items()}


def _official_names(rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The official names; ``Taiwan, Province of China`` and ``Sint Maarten (Dutch part)`` are entries of a list."""
    names = {_field(row, "alpha_2", "ISO 3166-1"): row.get("official_name", "") for row in rows}
    return {code: name for code, name in names.items() if name and not re.search("[,(]", name)}
