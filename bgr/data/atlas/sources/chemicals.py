"""Chemical compounds of the package chemicals: names, formulas, measured properties, elements and families.

Compounds, names and most properties come from the CRC Handbook's tables of physical constants (organic and inorganic),
structures and synonyms from the package's extract of PubChem. The package's code is not imported, only its tables are
read. Each property is taken from one value: that of the first table, in the order of `_PROPERTIES`, that has it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bgr.data.atlas.sources.compound_names import (
    agrees_with_state,
    compound_family,
    confirmed_formula,
    parse_formula,
    usual_names,
)
from bgr.data.atlas.sources.packages import package_file
from bgr.data.atlas.statements import KnowledgeBuilder
from bgr.errors import DataError

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
_MAX_CORE_NAME, _MAX_CORE_DIGITS = 28, 2
# CAS numbers whose structure in the source lacks hydrogen or is another's: SnH2, SiBr3, PCl4F
_WRONG_STRUCTURES = {"2406-52-2", "7789-57-3", "13498-11-8"}
# elements of odd valence, of which an uncharged molecule that is not a radical has an even number of atoms
_ODD_VALENCE = set("H Li Na K F Cl Br I N P As Sb B Al".split())
# isotopes of hydrogen, which are not elements of their own
_HEAVY = {"D", "T"}


@dataclass(frozen=True, slots=True)
class Compound:
    """A compound by its CAS number.

    Args:
        atoms: number of atoms by chemical symbol.
        molar_mass: in grams per mole.
        measured: values by the key of their property, in its unit.
    """

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
        DataError: the package is not installed, or its version lacks a table or a column.
    """
    columns = {INORGANIC: {"CAS", "Chemical"}, ORGANIC: {"CAS", "Name"}, _CARCINOGENS: {"CAS", "group"}}
    for entry in _PROPERTIES:
        for file in entry.tables:
            columns.setdefault(file, {"CAS"}).add(entry.column)
    tables = {file: _table(file, needed) for file, needed in columns.items()}
    return join_compounds(tables, _identities({*tables[INORGANIC], *tables[ORGANIC]}))


def join_compounds(tables: Mapping[str, Mapping[str, Row]], identities: Mapping[str, Identity]) -> list[Compound]:
    """The compounds of the tables (by file and CAS number) that `read_compounds` describes."""
    known = [cas for cas in {**tables[INORGANIC], **tables[ORGANIC]} if cas in identities]
    measured = {cas: _measured(tables, cas) for cas in known if cas not in _WRONG_STRUCTURES}
    found = [cas for cas, values in measured.items() if len(values) >= _MIN_MEASURED]
    compounds: list[Compound] = []
    taken: set[str] = set()
    for cas in sorted(found, key=lambda cas: (-len(measured[cas]), *map(int, cas.split("-")))):
        compound = _compound(tables, cas, identities[cas], measured[cas], taken)
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


def _organic_formula(identity: Identity) -> str | None:
    """The Hill formula of one uncharged molecule: the one that stands in its InChI too.

    Radicals are refused: the source lacks a hydrogen of some compounds (triethylsilane as C6H15Si).
    """
    same, atoms = identity.inchi.split("/", 1)[0] == identity.formula, parse_formula(identity.formula)
    paired = sum(count for symbol, count in atoms.items() if symbol in _ODD_VALENCE) % 2 == 0
    return identity.formula if same and paired and len(atoms) > 1 else None


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


def _table(file: str, columns: set[str]) -> dict[str, Row]:
    """The rows of a table by CAS number. A missing column is refused, as it would look like unknown values."""
    path = package_file("chemicals", file)
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines, delimiter="\t")
        if missing := columns - set(reader.fieldnames or ()):
            raise DataError(f"{path}: no columns {sorted(missing)}, only {reader.fieldnames}")
        return {row["CAS"]: row for row in reader}


def _identities(wanted: set[str]) -> dict[str, Identity]:
    """Rows of the identifier files: PubChem id, CAS number, formula, mass, SMILES, InChI, its key, name, synonyms."""
    found: dict[str, Identity] = {}
    for file in _IDENTIFIERS:
        with package_file("chemicals", file).open(encoding="utf-8") as lines:
            for line in lines:
                cas = line.split("\t", 2)[1]
                if cas in wanted and cas not in found:
                    _, _, formula, mass, _, inchi, _, systematic, *synonyms = line.rstrip("\n").split("\t")
                    found[cas] = Identity(formula, float(mass), inchi, systematic, synonyms)
    return found
