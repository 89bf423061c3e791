"""Names, formulas and families of compounds, as far as they are usual and certain by the rules of chemical
nomenclature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

_MAX_NAME, _MAX_DIGITS = 40, 4
_MAX_COMMON_NAME = 28

_ATOMS = re.compile(r"([A-Z][a-z]?)(\d*)")
_LETTERS_AND_LOCANTS = re.compile(r"(?=.*[A-Za-z]{3})[A-Za-zα-ω0-9'’, ()-]+")
# inverted ("1,1-ethanediol, diacetate"), or with brackets at the end other than an oxidation state
_UNUSUAL = re.compile(r", |\((?![IVX]+\))[^()]*\)$")
_STEREO = re.compile(r"\b(cis|trans|dl|meso|endo|exo|syn|anti|[DLdlRSEZ])\b|[α-ω±]")
_STATES = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8}
# negative charges of the ions of binary compounds
_CHARGES = {"F": 1, "Cl": 1, "Br": 1, "I": 1, "O": 2, "S": 2, "Se": 2, "Te": 2, "N": 3, "P": 3}
_FORMULA_IN_NAME = re.compile(r"\(([^()]*)\)$")


# -- formulas ---------------------------------------------------------------------------------------------------------


def parse_formula(formula: str) -> dict[str, int]:
    """Atoms by symbol of a formula without brackets: ``{"C": 2, "H": 6, "O": 1}`` of ``C2H6O``; else empty."""
    parts = _ATOMS.findall(formula)
    if "".join(symbol + count for symbol, count in parts) != formula or len(dict(parts)) < len(parts):
        return {}
    return {symbol: int(count or 1) for symbol, count in parts}


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
        and re.fullmatch(rf"[a-z ]{{6,{_MAX_COMMON_NAME}}}", common)
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


_HALOGENS = frozenset({"F", "Cl", "Br", "I"})
# "ethan", "prop-2-en", "but-3-yne": a chain of carbon atoms; "phen" and "fur" are none
_CHAIN = r"(?:meth|eth|prop|but|pent|hex|hept|oct|non|dec|cos)a?(?:-[\d,]+-)?(?:di|tri)?(?:an|en|yn)e?"
# suffix of the principal group -> family, with the elements that its members may contain beside halogens.
# "-anone" alone would take in lactones and "-amine" amides, which the elements or the chain exclude.
_SUFFIXES: tuple[tuple[str, str, str], ...] = (
    (r"(?<!thi)(?:oic|carboxylic|formic|acetic|propionic|butyric) acid", "carboxylic acid", "C H O N S"),
    (r"\w+yl [^ ]*(?:oate|formate|acetate|propionate|butyrate|carboxylate)", "ester", "C H O N"),
    (r"(?:aldehyde|(?:an|en)-?(?:\d-)?al)", "aldehyde", "C H O"),
    (rf"{_CHAIN}(?:-[\d,]+-?)?(?:di)?one", "ketone", "C H O"),
    (rf"{_CHAIN}(?:-[\d,]+-?)?(?:di|tri)?ol", "alcohol", "C H O N S"),
    (r"(?:amine|aniline)", "amine", "C H N"),
    (r"nitrile", "nitrile", "C H N O S"),
    (r"thiol", "thiol", "C H S"),
    (r"(?: ether|(?<!hydr)(?<!ep)oxy[a-z]*(?:ane|benzene))", "ether", "C H O"),
)
# groups of higher rank, rings with other atoms, ketenes, imines
_NOT_PRINCIPAL = re.compile(
    r"perox|thio(?!l\b|phen)|isonitrile|oxide|silox|lacton|ethenone|ylidene|\(phenylmethylene\)"
    r"|(?:ox|az|thi)a(?:cyclo|bicyclo|tricyclo|tetracyclo|spiro)"
)
# "dioxide" is an oxide, but "dichromate" is not a chromate
_MULTIPLE = r"(?:(?:mono|di|tri|tetra?|penta?|hexa|hepta|sesqui)(?=\w+ide))?"
_ANIONS = (
    "fluoride", "chloride", "bromide", "iodide", "oxide", "sulfide", "selenide", "telluride", "nitride", "phosphide",
    "arsenide", "antimonide", "carbide", "silicide", "boride", "hydride", "hydroxide", "cyanide", "azide", "sulfate",
    "nitrate", "carbonate", "phosphate", "chlorate", "perchlorate", "bromate", "iodate", "chromate", "molybdate",
    "tungstate",
)  # fmt: skip
_SALT = re.compile(rf".* {_MULTIPLE}({'|'.join(_ANIONS)})")


def compound_family(printed: str, systematic: str, atoms: Mapping[str, int], *, organic: bool) -> str | None:
    """The family of a compound, or ``None`` if neither its names nor its formula give one with certainty.

    Args:
        printed: name in the handbook; an inorganic name ends in its anion (``chloride``, ``dioxide``).
        systematic: IUPAC name, whose suffix is the principal group of an organic compound.
        atoms: number of atoms by symbol.
    """
    if not organic:
        match = _SALT.fullmatch(printed.lower())
        return match[1] if match else None
    names = [systematic.lower(), printed.lower()]
    # an anhydride is the ester of an acid in some systematic names ("acetyl acetate")
    if names[1].endswith(" anhydride"):
        return "acid anhydride" if set(atoms) <= {"C", "H", "O"} | _HALOGENS else None
    if any(_NOT_PRINCIPAL.search(name) for name in names):
        names = []
    return _saturated(atoms) or next(filter(None, (_by_suffix(name, atoms) for name in names)), None)


def _saturated(atoms: Mapping[str, int]) -> str | None:
    """``alkane`` for CₙH₂ₙ₊₂, ``haloalkane`` with halogens in the place of hydrogens: there is no room for a ring."""
    halogens = sum(atoms.get(symbol, 0) for symbol in _HALOGENS)
    if not set(atoms) <= {"C", "H"} | _HALOGENS or atoms.get("H", 0) + halogens != 2 * atoms.get("C", 0) + 2:
        return None
    return "haloalkane" if halogens else "alkane"


def _by_suffix(name: str, atoms: Mapping[str, int]) -> str | None:
    for suffix, family, elements in _SUFFIXES:
        if re.search(rf"{suffix}$", name):
            return family if set(atoms) <= set(elements.split()) | _HALOGENS else None
    return None
