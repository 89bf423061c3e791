"""Languages, scripts and families: small inputs, and the installed packages."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from bgr.data.atlas.build import CONCEPTS
from bgr.data.atlas.sources.countries import Country
from bgr.data.atlas.sources.language_files import (
    LanguageData,
    Use,
    join_languages,
    parse_families,
    parse_registry,
    read_languages,
    script_name,
)
from bgr.data.atlas.sources.languages import add_languages, choose_languages
from bgr.data.atlas.statements import KnowledgeBuilder
from bgr.errors import DataError

LANGUAGES = [
    {"alpha_3": "swe", "alpha_2": "sv", "name": "Swedish", "scope": "I", "type": "L"},
    {"alpha_3": "srp", "alpha_2": "sr", "name": "Serbian", "scope": "I", "type": "L"},
    {"alpha_3": "kur", "alpha_2": "ku", "name": "Kurdish", "scope": "M", "type": "L"},
    {"alpha_3": "ckb", "name": "Central Kurdish", "scope": "I", "type": "L"},
    {"alpha_3": "lat", "alpha_2": "la", "name": "Latin", "scope": "I", "type": "H"},
    {"alpha_3": "ssp", "name": "Spanish Sign Language", "scope": "I", "type": "L"},
    {"alpha_3": "tlh", "name": "Klingon", "scope": "I", "type": "C"},
    {"alpha_3": "abc", "name": "Aja (Benin)", "scope": "I", "type": "L"},
    {"alpha_3": "abd", "name": "Aja (South Sudan)", "scope": "I", "type": "E"},
    {"alpha_3": "abe", "name": "Elfdalian (until 1900)", "scope": "I", "type": "L"},
]
SCRIPTS = [
    {"alpha_4": "Latn", "numeric": "215", "name": "Latin"},
    {"alpha_4": "Cyrl", "numeric": "220", "name": "Cyrillic"},
    {"alpha_4": "Arab", "numeric": "160", "name": "Arabic"},
    {"alpha_4": "Mong", "numeric": "145", "name": "Mongolian"},
    {"alpha_4": "Jpan", "numeric": "413", "name": "Japanese (alias for Han + Hiragana + Katakana)"},
    {"alpha_4": "Zxxx", "numeric": "997", "name": "Code for unwritten documents"},
]
COUNTRIES = [
    {"alpha_2": "SE", "name": "Sweden", "official_name": "Kingdom of Sweden"},
    {"alpha_2": "TW", "name": "Taiwan", "official_name": "Taiwan, Province of China"},
    {"alpha_2": "CU", "name": "Curaçao"},
]
CLDR = """<supplementalData>
<languageData>
  <language type="sv" scripts="Latn"/> <language type="sv" scripts="Cyrl" alt="secondary"/>
  <language type="sr" scripts="Cyrl Latn"/> <language type="la" scripts="Latn" alt="secondary"/>
  <language type="xx" scripts="Latn"/>
</languageData>
<territoryInfo>
  <territory type="SE" gdp="600000000000" literacyPercent="99" population="10000000">
    <languagePopulation type="sv" populationPercent="95" officialStatus="official"/> <!--Swedish-->
    <languagePopulation type="abe" populationPercent="0.02"/> <!--Elfdalian [a language]-->
    <languagePopulation type="ckb" populationPercent="1"/> <!--Sorani-->
    <languagePopulation type="ku" populationPercent="2"/>
    <languagePopulation type="la" populationPercent="5"/>
    <languagePopulation type="sr" populationPercent="0"/>
    <languagePopulation type="xx" populationPercent="5"/>
  </territory>
  <territory type="RS" population="1000">
    <languagePopulation type="sr" populationPercent="99" officialStatus="official"/>
    <languagePopulation type="sr_Latn" populationPercent="96" officialStatus="official"/>
    <languagePopulation type="sv" populationPercent="1" officialStatus="official_regional"/>
    <languagePopulation type="tlh" populationPercent="0" officialStatus="de_facto_official"/>
  </territory>
</territoryInfo>
</supplementalData>"""
REGISTRY = """File-Date: 2021-08-06
%%
Type: language
Subtag: ckb
Description: Central Kurdish
Description: Sorani
Macrolanguage: ku
%%
Type: extlang
Subtag: ssp
Prefix: sgn
%%
Type: script
Subtag: Latn
"""
FAMILIES = (
    "sv\tSwedish\tNorth Germanic\tLatn\nssp\tSpanish Sign\tsign\nku\tKurdish\tWestern Iranian\ntlh\tK\tconstructed\n"
)


def tree(text: str) -> ET.Element:
    return ET.fromstring(text, ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))


def joined(
    cldr: str = CLDR, languages: Any = LANGUAGES, scripts: Any = SCRIPTS, countries: Any = COUNTRIES
) -> LanguageData:
    registry, families = parse_registry(REGISTRY), parse_families(FAMILIES)
    return join_languages(languages, scripts, countries, tree(cldr), registry, families)


def test_names_are_usual_ones_and_keep_brackets_only_where_they_distinguish() -> None:
    names = {code: language.name for code, language in joined().languages.items()}
    assert names["ckb"] == "Sorani"
    assert names["abe"] == "Elfdalian (a language)"
    assert (names["abc"], names["abd"]) == ("Aja (Benin)", "Aja (South Sudan)")
    single = joined(languages=LANGUAGES[:8]).languages["abc"]
    assert single.name == "Aja"
    individual = {"alpha_3": "swx", "name": "Swedish", "scope": "I", "type": "L"}
    assert joined(languages=[*LANGUAGES, individual]).languages["swx"].name == "Swedish (individual language)"


def test_customary_scripts_come_before_secondary_ones() -> None:
    found = joined().languages
    assert found["swe"].scripts == ("Latn",)
    assert found["srp"].scripts == ("Cyrl", "Latn")
    assert found["lat"].scripts == ("Latn",), "there are only secondary ones"


def test_speakers_are_summed_and_rounded_for_living_languages_that_are_not_counted_in_parts() -> None:
    speakers = {code: language.speakers for code, language in joined().languages.items()}
    assert speakers["swe"] == 9_500_000, "9,500,010 with two digits"
    assert speakers["srp"] == 990, "the largest share of its scripts, not their sum"
    assert speakers["ckb"] == 100_000
    assert speakers["kur"] is None, "those who speak one of its languages are counted there"
    assert speakers["lat"] is None
    assert speakers["tlh"] is None


def test_uses_without_share_and_status_are_left_out() -> None:
    sweden, serbia = joined().territories
    assert (sweden.literacy, sweden.gdp, serbia.literacy, serbia.gdp) == (99, 6e11, None, None)
    assert [use.language for use in sweden.uses] == ["swe", "abe", "ckb", "kur", "lat"]
    assert serbia.uses == (
        Use("srp", 99, "official"),
        Use("swe", 1, "regionally official"),
        Use("tlh", None, "de facto official"),
    )


def test_scripts_say_what_their_number_says() -> None:
    found = joined().scripts
    assert {code: (s.type, s.direction) for code, s in found.items()} == {
        "Latn": ("alphabet", "left to right"),
        "Cyrl": ("alphabet", "left to right"),
        "Arab": ("alphabet", "right to left"),
        "Mong": ("alphabet", None),
        "Jpan": (None, None),
    }


@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        ("Deva", "Devanagari (Nagari)", "Devanagari script"),
        ("Mand", "Mandaic, Mandaean", "Mandaic script"),
        ("Nkoo", "N’Ko", "N'Ko script"),
        ("Latf", "Latin (Fraktur variant)", "Fraktur Latin script"),
        ("Hans", "Han (Simplified variant)", "Simplified Chinese script"),
        ("Kits", "Khitan small script", "Khitan small script"),
    ],
)
def test_script_names(code: str, name: str, expected: str) -> None:
    assert script_name(code, name) == expected


def test_registry_and_families_are_parsed() -> None:
    records = parse_registry(REGISTRY)
    assert records[1] == {
        "Type": "language", "Subtag": "ckb", "Description": "Central Kurdish", "Macrolanguage": "ku",
    }  # fmt: skip
    assert parse_families(FAMILIES) == {"sv": "North Germanic languages", "ku": "Western Iranian languages"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"cldr": CLDR.replace('"95"', '"many"')}, "SE sv: populationPercent 'many', allowed: a number from 0 to 100"),
        ({"cldr": CLDR.replace('"95"', '"101"')}, "populationPercent '101'"),
        ({"cldr": CLDR.replace('"95"', '"nan"')}, "populationPercent 'nan'"),
        ({"cldr": CLDR.replace('population="1000"', 'population="-4"')}, "RS: population '-4'"),
        ({"cldr": CLDR.replace('="official_regional"', '="maybe"')}, "RS sv: officialStatus 'maybe', allowed"),
        ({"cldr": CLDR.replace('<territory type="RS"', "<territory")}, "a record without type"),
        ({"languages": [{**LANGUAGES[0], "type": "X"}]}, "swe: type 'X', allowed"),
        ({"languages": [{"name": "Nameless", "type": "L"}]}, "a record without alpha_3"),
        ({"languages": [{"alpha_3": "qqq", "type": "L"}]}, "qqq: a record without name"),
        ({"scripts": [{"alpha_4": "Latn", "name": "Latin", "numeric": "21"}]}, "Latn: number '21', allowed"),
        ({"scripts": [{"alpha_4": "Latn", "numeric": "215"}]}, "ISO 15924: a record without name"),
        ({"countries": [{"official_name": "Kingdom of Nowhere"}]}, "ISO 3166-1: a record without alpha_2"),
    ],
)
def test_bad_rows_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        joined(**bad)
    assert message in str(error.value)


def test_a_bad_line_of_families_is_refused() -> None:
    with pytest.raises(DataError, match="line 2: 'sv Swedish', allowed"):
        parse_families("aa\tAfar\tCushitic\nsv Swedish")


def base(*languages: str) -> KnowledgeBuilder:
    """A base with a country that has official languages, one without, and a language of films."""
    kb = KnowledgeBuilder()
    for names in CONCEPTS:
        kb.concept(*names)
    for name in ("Sweden", "Serbia"):
        kb.named("C", name, "country")
    for name in languages:
        kb.relation("C_Sweden", "official language", kb.named("L", name, "language"))
    kb.named("L", "Klingon", "language")
    kb.named("L", "Nadsat", "language")
    return kb


def entities(*official: str) -> dict[str, Any]:
    kb, data = base(*official), joined()
    languages = [language for language in choose_languages(data) if language.code != "tlh"]
    countries = [Country("Sweden", "SE", languages=official), Country("Serbia", "RS"), Country("Scotland")]
    add_languages(kb, data, languages, countries)
    found: dict[str, Any] = kb.to_json()["entities"]
    return found


def links(record: dict[str, Any], relation: str) -> dict[str, dict[str, Any]]:
    rows = [r for r in record["relations"] if (r["relation"], r["direction"]) == (relation, "forward")]
    return {r["object"]: {key: values[0]["value"] for key, values in r["qualifiers"].items()} for r in rows}


def test_languages_of_the_base_are_described_and_not_doubled() -> None:
    found = entities("Swedish")
    keys = {a["key"]: a["value"]["value"] for a in found["L_Swedish"]["attributes"]}
    assert keys == {
        "ISO 639-3 code": "swe", "ISO 639-1 code": "sv", "language type": "living", "number of speakers": 9_500_000,
    }  # fmt: skip
    assert [r["name"] for r in found.values()].count("Swedish") == 1
    assert found["L_Klingon"]["instanceOf"] == ["c_language", "c_constructed_language"], "known from films"
    assert found["L_Nadsat"]["attributes"] == []
    assert found["L_Spanish_Sign_Language"]["instanceOf"] == ["c_language", "c_sign_language"]
    assert found["L_Kurdish"]["instanceOf"] == ["c_language", "c_macrolanguage"]
    assert "L_Aja_(Benin)" not in found, "nothing is known of it but its code"


def test_links_of_languages() -> None:
    found = entities("Swedish")
    assert list(links(found["L_Serbian"], "writing system")) == ["W_Cyrl", "W_Latn"]
    assert list(links(found["L_Sorani"], "macrolanguage")) == ["L_Kurdish"]
    assert list(links(found["L_Swedish"], "language family")) == ["B_North_Germanic_languages"]
    assert "W_Mong" not in found, "no language of the base is written in it"


def test_a_status_stands_only_where_the_two_sources_agree() -> None:
    agreed = links(entities("Swedish")["C_Sweden"], "language used")
    assert agreed["L_Swedish"] == {"share of population": 95, "official status": "official"}
    assert agreed["L_Sorani"] == {"share of population": 1}
    disputed = links(entities("Latin")["C_Sweden"], "language used")
    assert disputed["L_Swedish"] == {"share of population": 95}
    record = entities("Latin")["C_Sweden"]
    assert list(links(record, "official language")) == ["L_Latin"], "the base's own stay as they are"


def test_official_languages_are_added_where_the_base_is_silent() -> None:
    record = entities("Swedish")["C_Serbia"]
    assert list(links(record, "official language")) == ["L_Serbian", "L_Klingon"]
    assert links(record, "language used")["L_Swedish"]["official status"] == "regionally official"


def test_numbers_and_names_of_countries() -> None:
    found = entities("Swedish")
    keys = {a["key"]: a["value"] for a in found["C_Sweden"]["attributes"]}
    assert keys["literacy rate"] == {"type": "quantity", "value": 99, "unit": "percent"}
    assert keys["GDP at purchasing power parity"]["unit"] == "United States dollar"
    assert keys["official name"]["value"] == "Kingdom of Sweden"
    assert joined().official_names == {"SE": "Kingdom of Sweden"}


def test_the_core_takes_the_best_known_languages() -> None:
    chosen = choose_languages(joined(), size=100)
    assert [language.code for language in chosen] == ["swe", "srp", "lat", "kur"]
    assert {language.code for language in choose_languages(joined())} >= {"ckb", "ssp", "tlh", "abe"}


@pytest.fixture(scope="module")
def data() -> LanguageData:
    return read_languages()


def test_the_packages_describe_well_known_languages(data: LanguageData) -> None:
    found = data.languages
    swahili, kurdish, basque = found["swa"], found["kur"], found["eus"]
    assert (swahili.name, swahili.is_macrolanguage, swahili.family) == ("Swahili", True, "Bantu languages")
    assert [data.scripts[code].name for code in kurdish.scripts] == [
        "Latin script", "Arabic script", "Cyrillic script",
    ]  # fmt: skip
    assert found["arz"].macrolanguage == "ara"
    assert found["ase"].is_signed
    assert found["epo"].type == "constructed"
    assert 800_000 < (basque.speakers or 0) < 2_000_000
    assert {"Mandarin Chinese", "Cantonese", "Iñupiaq", "Kirundi"} <= {language.name for language in found.values()}


def test_the_packages_give_every_language_and_script_one_name(data: LanguageData) -> None:
    for things in (data.languages, data.scripts):
        names = [thing.name for thing in things.values()]  # type: ignore[attr-defined]
        assert len(set(names)) == len(names)
        assert all(name == " ".join(name.split()) for name in names)
    assert not {language.name for language in data.languages.values()} & {s.name for s in data.scripts.values()}
    assert len(choose_languages(data, 20_000)) == 700
    assert 1_200 < len(choose_languages(data)) < 2_000
