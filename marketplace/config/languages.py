"""Languages of the pages: English, and each language that has a catalogue of messages."""

from pathlib import Path

from django.conf.locale import LANG_INFO
from django.utils.translation import to_language

ENGLISH = ("en", "English")


def available_languages(catalogues: Path) -> list[tuple[str, str]]:
    """Return (code, name in that language), English first.

    A catalogue `<locale>/LC_MESSAGES/django.po` is all that a language needs.
    """
    locales = sorted(path.parts[-3] for path in catalogues.glob("*/LC_MESSAGES/django.po"))
    return [ENGLISH, *((code, _own_name(code)) for code in map(to_language, locales))]


def _own_name(code: str) -> str:
    info = LANG_INFO.get(code, LANG_INFO.get(code.split("-")[0], {}))
    return str(info.get("name_local", code))
