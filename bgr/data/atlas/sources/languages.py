"""Languages, scripts and families as statements of the knowledge base, and the languages of its countries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bgr.data.atlas.sources.countries import Country
from bgr.data.atlas.sources.language_files import Language, LanguageData, Script, Territory
from bgr.data.atlas.statements import KnowledgeBuilder, Raw, name_id
from bgr.data.kb.schema import Value

# share of languages among the core's entities
_LANGUAGE_SHARE = 0.035
_OFFICIAL = ("official", "de facto official")


def choose_languages(data: LanguageData, size: int | None = None) -> list[Language]:
    """The described languages, or the best known: those with an ISO 639-1 code, then those with the most speakers."""
    found = [language for language in data.languages.values() if language.described]
    if size is None:
        return found

    def rank(language: Language) -> tuple[bool, int, int, str]:
        return (not language.short, -(language.speakers or 0), -len(language.scripts), language.code)

    return sorted(found, key=rank)[: round(size * _LANGUAGE_SHARE)]


def add_languages(
    kb: KnowledgeBuilder, data: LanguageData, languages: Iterable[Language], countries: Iterable[Country]
) -> None:
    """Add the languages, and describe those that the base has by name; then their scripts and use in the countries."""
    chosen = {language.code for language in languages}
    ids = {
        code: name_id("L", language.name)
        for code, language in data.languages.items()
        if code in chosen or name_id("L", language.name) in kb
    }
    for code in ids:
        _add_language(kb, data.languages[code])
    for code in ids:
        _link_language(kb, data.languages[code], data.scripts, ids)
    by_code = {country.code: country for country in countries if country.code}
    for territory in data.territories:
        if territory.code in by_code:
            _add_territory(kb, territory, by_code[territory.code], ids)
    for code, name in data.official_names.items():
        if code in by_code and name != by_code[code].name:
            kb.attribute(name_id("C", by_code[code].name), "official name", name)


def _add_language(kb: KnowledgeBuilder, language: Language) -> None:
    kinds = {
        "language": True,
        "macrolanguage": language.is_macrolanguage,
        "sign language": language.is_signed,
        "constructed language": language.type == "constructed",
    }
    identifier = kb.named("L", language.name, *(kind for kind, fits in kinds.items() if fits))
    kb.attribute(identifier, "ISO 639-3 code", language.code)
    kb.attribute(identifier, "ISO 639-1 code", language.short)
    kb.attribute(identifier, "language type", language.type)
    kb.attribute(identifier, "number of speakers", language.speakers)


def _link_language(
    kb: KnowledgeBuilder, language: Language, scripts: Mapping[str, Script], ids: Mapping[str, str]
) -> None:
    identifier = ids[language.code]
    for script in language.scripts:
        kb.relation(identifier, "writing system", _add_script(kb, scripts[script]))
    whole, family = language.macrolanguage, language.family
    if whole and whole in ids:
        kb.relation(identifier, "macrolanguage", ids[whole])
    if family:
        kb.relation(identifier, "language family", kb.named("B", family, "language family"))


def _add_script(kb: KnowledgeBuilder, script: Script) -> str:
    identifier = kb.entity(f"W_{script.code}", script.name, "writing system")
    kb.attribute(identifier, "ISO 15924 code", script.code)
    kb.attribute(identifier, "script type", script.type)
    kb.attribute(identifier, "writing direction", script.direction)
    return identifier


def _add_territory(kb: KnowledgeBuilder, territory: Territory, country: Country, ids: Mapping[str, str]) -> None:
    """Literacy, GDP and languages of a country.

    The base knows official languages from countryinfo. Where it is silent, CLDR's are added; elsewhere a status stands
    only where the two agree, so that no statement contradicts another.
    """
    place = name_id("C", country.name)
    kb.attribute(place, "literacy rate", territory.literacy, "percent")
    kb.attribute(place, "GDP at purchasing power parity", territory.gdp, "United States dollar")
    stated = {name_id("L", name) for name in country.languages}
    for use in territory.uses:
        language = ids.get(use.language)
        if language is None:
            continue
        official = use.status in _OFFICIAL
        if official and not stated:
            kb.relation(place, "official language", language)
        agrees = not stated or (language in stated) == official
        qualifiers: dict[str, list[Raw]] = {}
        if use.share:
            qualifiers["share of population"] = [Value("quantity", use.share, "percent")]
        if use.status and agrees:
            qualifiers["official status"] = [use.status]
        kb.relation(place, "language used", language, qualifiers)
