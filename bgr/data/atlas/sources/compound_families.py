"""Families of compounds, as far as the rules of chemical nomenclature or the formula make them certain."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
