"""Chemical compounds of the package chemicals: names, formulas, measured properties, elements and families.

Compounds, names and most properties come from the CRC Handbook's tables of physical constants (organic and inorganic),
structures and synonyms from the package's extract of PubChem. The package's code is not imported, only its tables are
read. Each property is taken from one value: that of the first table, in the order of `_PROPERTIES`, that has it.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from bgr.data.atlas.sources.families import compound_family
from bgr.data.atlas.sources.packages import package_file
from bgr.data.atlas.statements import KnowledgeBuilder

Row = Mapping[str, str]

INORGANIC = "Misc/Physical Constants of Inorganic Compounds.csv"
ORGANIC = "Misc/Physical Constants of Organic Compounds.csv"
_IEC, _NFPA = "Safety/IS IEC 60079-20-1 2010.tsv", "Safety/NFPA 497 2008.tsv"
# the first file that has a compound describes it
_IDENTIFIERS = tuple(
    f"Identifiers/{name}.tsv"
    for name in (
        "chemical identifiers pubchem small", "chemical identifiers pubchem large",
        "chemical identifiers example user db", "Inorganic db",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Property:
    """A measured property: its column in each of the tables, in order of preference, and the factor to its unit."""

    key: str
    column: str
    unit: str
    tables: tuple[str, ...]
    factor: float = 1.0


_PROPERTIES = (
    Property("melting point", "Tm", "kelvin", (INORGANIC, ORGANIC)),
    Property("boiling point", "Tb", "kelvin", (INORGANIC, ORGANIC)),
    Property("density", "rho", "gram per cubic centimetre", (INORGANIC, ORGANIC), 0.001),
    Property("refractive index", "RI", "1", (ORGANIC,)),
    Property("flash point", "T_flash", "kelvin", (_IEC, _NFPA, "Safety/DIPPR T_flash Serat.csv")),
    Property("autoignition temperature", "T_autoignition", "kelvin", (_IEC, _NFPA)),
    Property("critical temperature", "Tc", "kelvin", (
        "Critical Properties/CRCCriticalOrganics.tsv",
        "Critical Properties/Mathews1972InorganicCriticalProps.tsv",
    )),
)  # fmt: skip
_CARCINOGENS = "Safety/IARC Carcinogen Database.tsv"
# names that are better known than the handbook's, by CAS number
_USUAL_NAMES = {
    "56-23-5": "carbon tetrachloride", "57-10-3": "palmitic acid", "67-66-3": "chloroform", "75-01-4": "vinyl chloride",
    "75-21-8": "ethylene oxide", "75-25-2": "bromoform", "79-01-6": "trichloroethylene", "79-09-4": "propionic acid",
    "98-82-8": "cumene", "107-92-6": "butyric acid", "112-80-1": "oleic acid", "127-18-4": "tetrachloroethylene",
    "143-07-7": "lauric acid",
}  # fmt: skip
# the package writes 2A and 2B as numbers
_IARC_GROUPS = {"1": "1", "11": "2A", "12": "2B", "3": "3", "4": "4"}

# shares of organic and of inorganic compounds in the core, of its size
_ORGANIC_SHARE, _INORGANIC_SHARE = 0.05, 0.025
_MIN_MEASURED = 2
_MAX_NAME, _MAX_CORE_NAME = 40, 28
_MAX_DIGITS, _MAX_CORE_DIGITS = 4, 2

_ATOMS = re.compile(r"([A-Z][a-z]?)(\d*)")
_LETTERS_AND_LOCANTS = re.compile(r"(?=.*[A-Za-z]{3})[A-Za-zα-ω0-9'’, ()-]+")
# inverted ("1,1-ethanediol, diacetate"), or with brackets at the end other than an oxidation state
_UNUSUAL = re.compile(r", |\((?![IVX]+\))[^()]*\)$")
_STEREO = re.compile(r"\b(cis|trans|dl|meso|endo|exo|syn|anti|[DLdlRSEZ])\b|[α-ω±]")
# isotopes of hydrogen, which are not elements of their own
_HEAVY = {"D", "T"}
_STATES = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8}
# negative charges of the ions of binary compounds
_CHARGES = {"F": 1, "Cl": 1, "Br": 1, "I": 1, "O": 2, "S": 2, "Se": 2, "Te": 2, "N": 3, "P": 3}
_FORMULA_IN_NAME = re.compile(r"\(([^()]*)\)$")


@dataclass(frozen=True, slots=True)
class Compound:
    """A compound by its CAS number; `atoms` counts the atoms of each chemical symbol in the formula."""

    cas: str
    name: str
    formula: str
    atoms: Mapping[str, int]
    molar_mass: float
    measured: Mapping[str, float]
    iarc_group: str | None
    family: str | None
    organic: bool


@dataclass(frozen=True, slots=True)
class Identity:
    """A row of the identifier files: Hill formula, InChI without its prefix, systematic name, synonyms."""

    formula: str
    molar_mass: float
    inchi: str
    systematic: str
    synonyms: Sequence[str]


def read_compounds() -> list[Compound]:
    """All compounds with a decent name, a certain formula and two measured properties; names are unique.

    Best described first, so that of two compounds with the same name the better described one keeps it.

    Raises:
        DataError: the package is not installed, or its version lacks a table.
    """
    files = {ORGANIC, INORGANIC, _CARCINOGENS} | {table for entry in _PROPERTIES for table in entry.tables}
    tables = {file: {row["CAS"]: row for row in _rows(file)} for file in sorted(files)}
    return join_compounds(tables, _identities({*tables[INORGANIC], *tables[ORGANIC]}))


def join_compounds(tables: Mapping[str, Mapping[str, Row]], identities: Mapping[str, Identity]) -> list[Compound]:
    """The compounds of the tables (by file and CAS number) that `read_compounds` describes."""
    found = []
    for cas in {**tables[INORGANIC], **tables[ORGANIC]}:
        measured = _measured(tables, cas)
        if cas in identities and len(measured) >= _MIN_MEASURED:
            found.append((-len(measured), _cas_key(cas), cas, measured))
    compounds: list[Compound] = []
    taken: set[str] = set()
    for _, _, cas, measured in sorted(found):
        compound = _compound(tables, cas, identities[cas], measured, taken)
        if compound is not None:
            taken.add(compound.name.casefold())
            compounds.append(compound)
    return compounds


def _compound(
    tables: Mapping[str, Mapping[str, Row]], cas: str, identity: Identity, measured: dict[str, float], taken: set[str]
) -> Compound | None:
    """The compound, or ``None`` if its formula is uncertain or all its names are unfit or taken."""
    organic = cas not in tables[INORGANIC]
    printed = tables[ORGANIC][cas]["Name"] if organic else tables[INORGANIC][cas]["Chemical"]
    formula = _organic_formula(identity) if organic else confirmed_formula(identity.formula, identity.synonyms)
    # an inorganic name with its oxidation state says more than a synonym
    known = usual_names(_USUAL_NAMES.get(cas, printed), identity.synonyms if organic else ())
    names = [name for name in known if name.casefold() not in taken]
    atoms = parse_formula(formula or "")
    if formula is None or not names or not agrees_with_state(printed, atoms) or _HEAVY & set(atoms):
        return None
    if not organic and "hydrate" in printed:  # synonyms often give the formula without its water
        return None
    iarc = tables[_CARCINOGENS].get(cas)
    return Compound(
        cas=cas,
        name=names[0],
        formula=formula,
        atoms=atoms,
        molar_mass=identity.molar_mass,
        measured=measured,
        iarc_group=_IARC_GROUPS[iarc["group"]] if iarc else None,
        family=compound_family(printed, identity.systematic, atoms, organic=organic),
        organic=organic,
    )


def choose_compounds(compounds: Iterable[Compound], size: int) -> list[Compound]:
    """The best described compounds with short names: a twentieth of `size` organic, half as many inorganic.

    Inorganic compounds have fewer measured properties but contain the rarer elements, so they have their own share.
    """
    short = [
        c for c in compounds if len(c.name) <= _MAX_CORE_NAME and sum(map(str.isdigit, c.name)) <= _MAX_CORE_DIGITS
    ]
    organic = [c for c in short if c.organic][: round(size * _ORGANIC_SHARE)]
    return organic + [c for c in short if not c.organic][: round(size * _INORGANIC_SHARE)]


def add_compounds(kb: KnowledgeBuilder, compounds: Iterable[Compound]) -> int:
    """Add the compounds whose elements are all in the base. Returns their number."""
    count = 0
    for compound in compounds:
        elements = {symbol: f"E_{symbol}" for symbol in compound.atoms}
        if any(element not in kb for element in elements.values()):
            continue
        count += 1
        identifier = kb.entity(f"X_{compound.cas}", compound.name, "chemical compound")
        kb.attribute(identifier, "CAS number", compound.cas)
        kb.attribute(identifier, "chemical formula", compound.formula)
        kb.attribute(identifier, "molar mass", compound.molar_mass, "gram per mole")
        for entry in _PROPERTIES:
            kb.attribute(identifier, entry.key, compound.measured.get(entry.key), entry.unit)
        kb.attribute(identifier, "IARC group", compound.iarc_group)
        for symbol, element in elements.items():
            kb.relation(identifier, "contains element", element, {"number of atoms": [compound.atoms[symbol]]})
        if compound.family:
            kb.relation(identifier, "chemical family", kb.named("Y", compound.family, "chemical family"))
    return count


# -- formulas ---------------------------------------------------------------------------------------------------------


def parse_formula(formula: str) -> dict[str, int]:
    """Atoms by symbol of a formula without brackets: ``{"C": 2, "H": 6, "O": 1}`` of ``C2H6O``; else empty."""
    parts = _ATOMS.findall(formula)
    if "".join(symbol + count for symbol, count in parts) != formula or len(dict(parts)) < len(parts):
        return {}
    return {symbol: int(count or 1) for symbol, count in parts}


def _organic_formula(identity: Identity) -> str | None:
    """The Hill formula of one uncharged molecule: the one that stands in its InChI too."""
    same = identity.inchi.split("/", 1)[0] == identity.formula
    return identity.formula if same and len(parse_formula(identity.formula)) > 1 else None


def confirmed_formula(hill: str, synonyms: Iterable[str]) -> str | None:
    """The formula in the order of a synonym: ``NaCl`` of ``ClNa`` and ``nacl`` or ``sodium chloride (NaCl)``.

    Solids have no molecules, and the source's structures of some are wrong (cobalt titanate as CoOTi), so that a
    formula without such a synonym is not trusted.
    """
    parts = [symbol + (str(count) if count > 1 else "") for symbol, count in parse_formula(hill).items()]
    if not 2 <= len(parts) <= 6:
        return None
    orders = {"".join(order).lower(): "".join(order) for order in permutations(parts)}
    for synonym in synonyms:
        for text in (synonym, *_FORMULA_IN_NAME.findall(synonym)):
            if text.lower() in orders:
                return orders[text.lower()]
    return None


def agrees_with_state(name: str, atoms: Mapping[str, int]) -> bool:
    """False if the oxidation state of a binary compound contradicts its formula (``VS`` as vanadium(III) sulfide)."""
    state = re.search(r"\(([IVX,]+)\)", name)
    charged = [(symbol, _CHARGES[symbol]) for symbol in atoms if symbol in _CHARGES]
    if state is None or len(atoms) != 2 or len(charged) != 1:
        return True
    (anion, charge), metal = charged[0], next(symbol for symbol in atoms if symbol not in _CHARGES)
    return atoms[metal] * _STATES.get(state[1], 0) == atoms[anion] * charge


# -- names ------------------------------------------------------------------------------------------------------------


def usual_names(printed: str, synonyms: Sequence[str]) -> list[str]:
    """The decent names of a compound, the preferred one first: a common name, then the handbook's.

    PubChem sorts synonyms by use. Its first replaces a handbook name with locants if it is made of letters alone
    (``isopropanol`` for ``2-propanol``), unless it could mean an isomer too.
    """
    printed = " ".join(printed.split())
    known = [synonym.casefold() for synonym in synonyms[:12]]
    common = synonyms[0] if synonyms else ""
    usable = (
        re.search(r"[\d(]", printed)
        and not _STEREO.search(printed)
        and printed.casefold() in known
        and re.fullmatch(rf"[a-z ]{{6,{_MAX_CORE_NAME}}}", common)
        # "vinylcyclohexene" of "4-vinylcyclohexene" names its isomers too
        and _letters(common) not in _letters(printed)
    )
    return [name for name in ([common] if usable else []) + [_lower_first(printed)] if is_decent(name)]


def is_decent(name: str) -> bool:
    """False for a name that is too long, full of locants, inverted, or followed by a formula."""
    digits = sum(map(str.isdigit, name))
    short = len(name) <= _MAX_NAME and digits <= _MAX_DIGITS
    return short and _LETTERS_AND_LOCANTS.fullmatch(name) is not None and not _UNUSUAL.search(name)


def _lower_first(name: str) -> str:
    """``N-ethylaniline`` for ``N-Ethylaniline``; names with proper names (``Nile Blue``) are kept."""
    if "'s" in name or any(re.match(r"[A-Z][a-z]{2}", word) for word in name.split()[1:]):
        return name
    return re.sub(r"(?<![A-Za-z])[A-Z](?=[a-z]{2}|i-)", lambda m: m.group().lower(), name, count=1)


def _letters(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalpha())


# -- tables -----------------------------------------------------------------------------------------------------------


def _measured(tables: Mapping[str, Mapping[str, Row]], cas: str) -> dict[str, float]:
    """The properties of a compound; a boiling point at or below the melting point (sublimation) is left out."""
    found = {}
    for entry in _PROPERTIES:
        values = (tables[table].get(cas, {}).get(entry.column) for table in entry.tables)
        text = next((value for value in values if value), None)
        if text is not None and math.isfinite(float(text)) and float(text) > 0:
            found[entry.key] = float(text) * entry.factor
    if found.get("boiling point", math.inf) <= found.get("melting point", 0.0):
        del found["boiling point"]
    return found


def _rows(file: str) -> Iterator[Row]:
    with package_file("chemicals", *file.split("/")).open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t")


def _identities(wanted: set[str]) -> dict[str, Identity]:
    """Rows of the identifier files: PubChem id, CAS number, formula, mass, SMILES, InChI, its key, name, synonyms."""
    found: dict[str, Identity] = {}
    for file in _IDENTIFIERS:
        with package_file("chemicals", *file.split("/")).open(encoding="utf-8") as lines:
            for line in lines:
                cas = line.split("\t", 2)[1]
                if cas in wanted and cas not in found:
                    _, _, formula, mass, _, inchi, _, systematic, *synonyms = line.rstrip("\n").split("\t")
                    found[cas] = Identity(formula, float(mass), inchi, systematic, synonyms)
    return found


def _cas_key(cas: str) -> tuple[int, ...]:
    return tuple(int(part) for part in cas.split("-"))
