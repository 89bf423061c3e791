from pathlib import Path
from typing import Any

import pytest

import bgr.data.atlas.sources.chemicals as module
from bgr.data.atlas.sources.chemicals import (
    INORGANIC,
    ORGANIC,
    Compound,
    Identity,
    add_compounds,
    choose_compounds,
    join_compounds,
    read_compounds,
)
from bgr.data.atlas.sources.compound_names import (
    agrees_with_state,
    compound_family,
    confirmed_formula,
    is_decent,
    parse_formula,
    usual_names,
)
from bgr.data.atlas.statements import KnowledgeBuilder
from bgr.errors import DataError

IEC, NFPA = "Safety/IS IEC 60079-20-1 2010.tsv", "Safety/NFPA 497 2008.tsv"
SERAT = "Safety/DIPPR T_flash Serat.csv"
CRITICAL = "Critical Properties/CRCCriticalOrganics.tsv"
CRITICAL_INORGANIC = "Critical Properties/Mathews1972InorganicCriticalProps.tsv"
IARC = "Safety/IARC Carcinogen Database.tsv"

ETHANOL = Identity("C2H6O", 46.0684, "C2H6O/c1-2-3/h3H,2H2,1H3", "ethanol", ["ethanol", "ethyl alcohol"])
SALT = Identity("ClNa", 58.4428, "ClH.Na/h1H;/q;+1/p-1", "sodium;chloride", ["sodium chloride", "NaCl", "salt"])


def organic(name: str, **values: str) -> dict[str, str]:
    return {"Name": name, "Tm": "159", "Tb": "351.39", "rho": "789.3", "RI": "", **values}


def inorganic(name: str, **values: str) -> dict[str, str]:
    return {"Chemical": name, "Tm": "1073.85", "Tb": "1738.15", "rho": "2170", **values}


def tables(**rows: dict[str, dict[str, str]]) -> dict[str, dict[str, dict[str, str]]]:
    files = (INORGANIC, ORGANIC, IEC, NFPA, SERAT, CRITICAL, CRITICAL_INORGANIC, IARC)
    short = dict(zip(files, ("inorganic", "organic", "iec", "nfpa", "serat", "crit", "mathews", "iarc"), strict=True))
    return {file: rows.get(name, {}) for file, name in short.items()}


def entities(compounds: list[Compound], symbols: str = "C H O Na Cl") -> dict[str, Any]:
    kb = KnowledgeBuilder()
    for name in ("chemical element", "chemical compound", "chemical family"):
        kb.concept(name)
    for symbol in symbols.split():
        kb.entity(f"E_{symbol}", symbol, "chemical element")
    add_compounds(kb, compounds)
    return kb.to_json()["entities"]


@pytest.fixture(scope="module")
def compounds() -> list[Compound]:
    return read_compounds()


# -- small rows -------------------------------------------------------------------------------------------------------


def test_a_compound_becomes_statements() -> None:
    found = tables(
        organic={"64-17-5": organic("Ethanol")},
        iec={"64-17-5": {"T_flash": "285.15", "T_autoignition": ""}},
        nfpa={"64-17-5": {"T_flash": "286", "T_autoignition": "636"}},
        iarc={"64-17-5": {"group": "11"}},
    )
    ethanol = entities(join_compounds(found, {"64-17-5": ETHANOL}))["X_64-17-5"]
    assert ethanol["name"] == "ethanol"
    values = {a["key"]: (a["value"]["value"], a["value"].get("unit")) for a in ethanol["attributes"]}
    assert values == {
        "CAS number": ("64-17-5", None),
        "chemical formula": ("C2H6O", None),
        "molar mass": (46.0684, "gram per mole"),
        "melting point": (159, "kelvin"),
        "boiling point": (351.39, "kelvin"),
        "density": (0.7893, "gram per cubic centimetre"),
        "flash point": (285.15, "kelvin"),  # of the first table that has one
        "autoignition temperature": (636, "kelvin"),
        "IARC group": ("2A", None),
    }
    rows = [(r["relation"], r["object"], r["qualifiers"]) for r in ethanol["relations"]]
    atoms = [(f"E_{s}", {"number of atoms": [{"type": "quantity", "value": n, "unit": "1"}]})
             for s, n in (("C", 2), ("H", 6), ("O", 1))]  # fmt: skip
    assert rows == [("contains element", *row) for row in atoms] + [("chemical family", "Y_alcohol", {})]


@pytest.mark.parametrize(
    ("row", "identity"),
    [
        (organic("Ethanol", Tb="", rho=""), ETHANOL),  # one measured property
        (organic("Ethanol", Tb="150", rho=""), ETHANOL),  # boils before it melts, so that one is left
        (organic("Ethanol"), Identity("", 46.0, "", "ethanol", ["ethanol"])),  # no formula
        (organic("Ethanol"), Identity("C2H5O", 45.0, "C2H6O/c1", "ethanol", [])),  # two formulas
        (organic("Ethanol"), Identity("C2DH5O", 47.0, "C2DH5O/c1", "ethanol", [])),  # deuterium
        (organic("Ethyl"), Identity("C2H5", 29.0, "C2H5/c1-2", "ethyl", ["ethyl"])),  # a radical
        (organic("Oxygen"), Identity("O2", 32.0, "O2/c1-2", "oxygen", [])),  # an element
        (organic("1,1-Ethanediol, diacetate"), ETHANOL),  # an inverted name
        (organic("1,2,3,4,5-Pentamethylbenzene"), ETHANOL),  # mostly locants
        (organic("T" + "etra" * 10), ETHANOL),  # too long
    ],
)
def test_bad_rows_are_left_out(row: dict[str, str], identity: Identity) -> None:
    assert join_compounds(tables(organic={"64-17-5": row}), {"64-17-5": identity}) == []


def test_a_compound_that_has_no_identity_is_left_out() -> None:
    assert join_compounds(tables(organic={"64-17-5": organic("Ethanol")}), {}) == []


@pytest.mark.parametrize(
    ("name", "formula", "synonyms"),
    [
        ("Cobalt(II) titanate", "CoOTi", ["cobalt titanate (CoTiO3)"]),  # a wrong structure
        ("Sodium chloride", "ClNa", ["sodium chloride"]),  # nothing confirms it
        ("Titanium(III,IV) oxide", "OTi", ["titanium oxide (TiO)"]),
        ("Sodium chloride dihydrate", "ClNa", ["NaCl"]),
        ("Iodine", "I2", ["I2"]),
    ],
)
def test_an_uncertain_inorganic_formula_is_left_out(name: str, formula: str, synonyms: list[str]) -> None:
    identity = Identity(formula, 100.0, "", "", synonyms)
    assert join_compounds(tables(inorganic={"1-1-1": inorganic(name)}), {"1-1-1": identity}) == []


def test_an_unknown_element_leaves_the_compound_out() -> None:
    found = join_compounds(tables(inorganic={"7647-14-5": inorganic("Sodium chloride")}), {"7647-14-5": SALT})
    assert found[0].formula == "NaCl"
    assert "X_7647-14-5" in entities(found)
    assert "X_7647-14-5" not in entities(found, symbols="Na K")


def test_the_better_described_of_two_compounds_keeps_their_name() -> None:
    found = tables(organic={"1-1-1": organic("Ethanol"), "2-2-2": organic("Ethanol", RI="1.36")})
    kept = join_compounds(found, {"1-1-1": ETHANOL, "2-2-2": ETHANOL})
    assert [(c.cas, c.name) for c in kept] == [("2-2-2", "ethanol")]


def test_a_taken_common_name_leaves_the_handbooks() -> None:
    names = ["isobutyric acid", "2-methylpropanoic acid"]
    identity = Identity("C4H8O2", 88.1, "C4H8O2/c1-3", "2-methylpropanoic acid", names)
    row = organic("2-Methylpropanoic acid")
    found = join_compounds(tables(organic={"1-1-1": row, "2-2-2": row}), {"1-1-1": identity, "2-2-2": identity})
    assert [c.name for c in found] == names


@pytest.mark.parametrize(
    ("formula", "atoms"),
    [
        ("C2H6O", {"C": 2, "H": 6, "O": 1}),
        ("ClNa", {"Cl": 1, "Na": 1}),
        ("C12H22O11", {"C": 12, "H": 22, "O": 11}),
        ("HLaS-", {}),  # charged
        ("Ca(OH)2", {}),
        ("CH3OH", {}),  # not in Hill order
        ("", {}),
    ],
)
def test_formulas_are_parsed(formula: str, atoms: dict[str, int]) -> None:
    assert parse_formula(formula) == atoms


@pytest.mark.parametrize(
    ("hill", "synonyms", "formula"),
    [
        ("ClNa", ["salt", "nacl"], "NaCl"),
        ("CCaO3", ["calcium carbonate (CaCO3)"], "CaCO3"),
        ("H2O4S", ["sulfuric acid", "h2so4"], "H2SO4"),
        ("CO", ["co"], "CO"),
        ("CoOTi", ["cotio3"], None),
        ("Ti", ["ti"], None),
        ("C8H10N4O2", ["caffeine"], None),
    ],
)
def test_a_synonym_confirms_a_formula(hill: str, synonyms: list[str], formula: str | None) -> None:
    assert confirmed_formula(hill, synonyms) == formula


@pytest.mark.parametrize(
    ("name", "formula", "agrees"),
    [
        ("iron(III) oxide", "Fe2O3", True),
        ("iron(II) oxide", "Fe2O3", False),
        ("titanium(III,IV) oxide", "TiO", False),
        ("sodium chloride", "NaCl", True),
        ("lead(II) sulfate", "PbSO4", True),
    ],
)
def test_oxidation_states(name: str, formula: str, agrees: bool) -> None:
    assert agrees_with_state(name, parse_formula(formula)) is agrees


@pytest.mark.parametrize(
    ("printed", "synonyms", "name"),
    [
        ("2-Propanol", ["isopropanol", "2-propanol"], "isopropanol"),
        ("2-Propanol", ["isopropanol", "propan-2-ol"], "2-propanol"),  # not known to be the same
        ("4-Vinylcyclohexene", ["vinylcyclohexene", "4-vinylcyclohexene"], "4-vinylcyclohexene"),
        ("cis-2-Decalin", ["naphthane", "cis-2-decalin"], "cis-2-decalin"),
        ("1-Propanol", ["71-23-8", "1-propanol"], "1-propanol"),
        ("N,N-Dimethylaniline", [], "N,N-dimethylaniline"),
        ("Di-tert-butyl ether", [], "di-tert-butyl ether"),
        ("Iron(III) oxide", [], "iron(III) oxide"),
        ("Michler's ketone", [], "Michler's ketone"),
    ],
)
def test_names(printed: str, synonyms: list[str], name: str) -> None:
    assert usual_names(printed, synonyms)[0] == name


@pytest.mark.parametrize("name", ["cobalt boride (CoB)", "uranium boride [UB4]", "C10", "d", "acid, x", "7647-14-5"])
def test_unfit_names(name: str) -> None:
    assert not is_decent(name)


@pytest.mark.parametrize(
    ("printed", "systematic", "formula", "family"),
    [
        ("2-Methylbutane", "2-methylbutane", "C5H12", "alkane"),
        ("Cyclohexane", "cyclohexane", "C6H12", None),
        ("Trichloromethane", "chloroform", "CHCl3", "haloalkane"),
        ("2-Propanol", "propan-2-ol", "C3H8O", "alcohol"),
        ("Phenol", "phenol", "C6H6O", None),
        ("3-Butyn-2-ol", "but-3-yn-2-ol", "C4H6O", "alcohol"),
        ("Acetone", "propan-2-one", "C3H6O", "ketone"),
        ("2(5H)-Furanone", "2-oxofuranone", "C4H4O2", None),
        ("Diphenylketene", "2,2-diphenylethenone", "C14H10O", None),
        ("Acetic acid", "acetic acid", "C2H4O2", "carboxylic acid"),
        ("Peroxyacetic acid", "ethaneperoxoic acid", "C2H4O3", None),
        ("Ethyl acetate", "ethyl acetate", "C4H8O2", "ester"),
        ("Acetic anhydride", "acetyl acetate", "C4H6O3", "acid anhydride"),
        ("Acetamide", "ethanamide", "C2H5NO", None),
        ("Triethylamine", "N,N-diethylethanamine", "C6H15N", "amine"),
        ("Furfural", "furan-2-carbaldehyde", "C5H4O2", "aldehyde"),
        ("1,2-Epoxybutane", "2-ethyloxirane", "C4H8O", None),
        ("Diethyl ether", "ethoxyethane", "C4H10O", "ether"),
        ("Ethanethiol", "ethanethiol", "C2H6S", "thiol"),
    ],
)
def test_families_of_organic_compounds(printed: str, systematic: str, formula: str, family: str | None) -> None:
    assert compound_family(printed, systematic, parse_formula(formula), organic=True) == family


@pytest.mark.parametrize(
    ("printed", "family"),
    [
        ("Sodium chloride", "chloride"),
        ("Carbon dioxide", "oxide"),
        ("Phosphorus pentachloride", "chloride"),
        ("Sodium peroxide", None),
        ("Potassium chromate", "chromate"),
        ("Potassium dichromate", None),
        ("Sulfuric acid", None),
        ("Potassium thiocyanate", None),
    ],
)
def test_families_of_inorganic_compounds(printed: str, family: str | None) -> None:
    assert compound_family(printed, "", {}, organic=False) == family


def test_the_core_takes_the_best_described_with_short_names(compounds: list[Compound]) -> None:
    core = choose_compounds(compounds, 1000)
    assert [c.organic for c in core] == [True] * 50 + [False] * 25
    assert all(len(c.name) <= 28 for c in core)
    first = len(core[0].measured)
    assert first == max(len(c.measured) for c in compounds if c.organic)


def test_a_table_without_a_column_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("CAS\tChemical\tTb\n7647-14-5\tSodium chloride\t1738.15\n")
    monkeypatch.setattr(module, "package_file", lambda *_: table)
    with pytest.raises(DataError, match=r"table\.tsv: no columns \['Tm', 'rho'\], only \['CAS', 'Chemical', 'Tb'\]"):
        read_compounds()


# -- the installed package --------------------------------------------------------------------------------------------


def test_the_package_gives_thousands_of_compounds_with_unique_names(compounds: list[Compound]) -> None:
    assert len(compounds) > 5_000
    assert len({c.name.casefold() for c in compounds}) == len({c.cas for c in compounds}) == len(compounds)
    for compound in compounds:
        assert len(compound.atoms) > 1
        assert len(compound.measured) >= 2
        assert compound.molar_mass > 2
        assert compound.measured.get("boiling point", 1e9) > compound.measured.get("melting point", 0.0)
    assert sum(c.family is not None for c in compounds) > 2_500
    assert not {"stannane", "tribromosilane", "triethylsilane"} & {c.name for c in compounds}, (
        "their structures are wrong"
    )


@pytest.mark.parametrize(
    ("name", "formula", "family", "key", "value"),
    [
        ("ethanol", "C2H6O", "alcohol", "boiling point", 351.44),
        ("water", "H2O", None, "boiling point", 373.12),
        ("benzene", "C6H6", None, "melting point", 278.64),
        ("sodium chloride", "NaCl", "chloride", "melting point", 1075),
        ("chloroform", "CHCl3", "haloalkane", "boiling point", 334.3),
        ("ammonia", "NH3", None, "boiling point", 239.8),
        ("toluene", "C7H8", None, "flash point", 277.15),
    ],
)
def test_well_known_compounds(
    compounds: list[Compound], name: str, formula: str, family: str | None, key: str, value: float
) -> None:
    found = next(c for c in compounds if c.name == name)
    assert (found.formula, found.family) == (formula, family)
    assert found.measured[key] == pytest.approx(value, abs=2)
