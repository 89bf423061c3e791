"""Languages: names for the codes of countryinfo, and one name where the film data has several."""

from __future__ import annotations

# ISO 639-1 codes as countryinfo uses them; "rs" there is Serbian
CODES: dict[str, str] = {
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
    "American English": "English",
    "Australian English": "English",
    "Bangla": "Bengali",
    "Brazilian Portuguese": "Portuguese",
    "Egyptian language": "Egyptian",
    "Flemish Dutch": "Dutch",
    "Kurdish language": "Kurdish",
    "Mandarin": "Mandarin Chinese",
    "Modern Greek": "Greek",
    "Modern Hebrew": "Hebrew",
    "Neapolitan language": "Neapolitan",
    "Putonghua": "Mandarin Chinese",
    "Standard Chinese": "Mandarin Chinese",
    "Standard Taiwanese Mandarin": "Mandarin Chinese",
    "Yue Chinese": "Cantonese",
    "parseltongue": "Parseltongue",
}
# no languages
NOT_LANGUAGES = frozenset({"multiple languages", "artistic language"})


def language_id(name: str) -> str:
    """The id of a language, from its name."""
    return "L_" + name.replace(" ", "_")
