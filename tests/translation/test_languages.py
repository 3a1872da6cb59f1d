"""A second language is a catalogue file: pages follow the reader, programs read English."""

import os
from gettext import GNUTranslations
from pathlib import Path

import pytest
from django.template import engines
from django.test import Client, override_settings
from django.utils import translation

from acl.platform._stored_messages import MESSAGES
from acl.platform.stored_texts import translate_stored
from acl.rights.precedence_sql import NO, PROPOSE, SPACE
from catalog.access._rule_conflicts import RuleInWords, find_conflicts
from marketplace.config.languages import available_languages
from marketplace.operate.embedded.text_catalogues import compile_catalogues
from tests.translation.stored_messages import find_messages

PAGE, API = "/sign-in/", "/api/v1/capabilities"


TEXTS = {
    "": "Content-Type: text/plain; charset=UTF-8",
    "Sign in": "Jetzt anmelden",
    SPACE.wins: "der nähere Raum gilt",
    "It mentions %(first)s, a tool of %(second)s.": "Von %(second)s: %(first)s.",
    "The archive %(first)s.": "Das Archiv %(first)s.",
    "is encrypted": "ist verschlüsselt",
}


@pytest.fixture
def german(tmp_path: Path) -> Path:
    """A folder of catalogues with a German one."""
    write_catalogue(tmp_path, TEXTS)
    compile_catalogues(tmp_path)
    return tmp_path


def write_catalogue(catalogues: Path, texts: dict[str, str]) -> Path:
    folder = catalogues / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "django.po"
    source.write_text("\n\n".join(f'msgid "{key}"\nmsgstr "{text}"' for key, text in texts.items()))
    return source


def sign_in_in(catalogue: Path) -> str:
    with catalogue.with_suffix(".mo").open("rb") as file:
        return GNUTranslations(file).gettext("Sign in")


def test_a_catalogue_is_all_that_a_language_needs(german: Path) -> None:
    assert available_languages(german) == [("en", "English"), ("de", "Deutsch")]


def test_without_catalogues_there_is_english(tmp_path: Path) -> None:
    assert available_languages(tmp_path / "none") == [("en", "English")]


def test_a_catalogue_is_compiled_again_once_it_is_newer(german: Path) -> None:
    source = write_catalogue(german, TEXTS | {"Sign in": "Anmelden"})
    old = source.with_suffix(".mo").stat().st_mtime_ns

    os.utime(source, ns=(old - 1, old - 1))
    compile_catalogues(german)
    before = sign_in_in(source)
    os.utime(source, ns=(old + 1, old + 1))
    compile_catalogues(german)

    assert (before, sign_in_in(source)) == ("Jetzt anmelden", "Anmelden")
    assert sorted(path.name for path in source.parent.iterdir()) == ["django.mo", "django.po"]


def test_a_catalogue_translates(german: Path) -> None:
    template = engines["django"].from_string("{% load i18n %}{% translate 'Sign in' %}")

    with override_settings(LOCALE_PATHS=[german], LANGUAGES=available_languages(german)):
        with translation.override("de"):
            assert template.render() == "Jetzt anmelden"
        with translation.override("en"):
            assert template.render() == "Sign in"


@pytest.mark.django_db
@pytest.mark.usefixtures("_plain_static")
def test_pages_follow_the_browser_and_programs_read_english(german: Path, client: Client) -> None:
    with override_settings(LOCALE_PATHS=[german], LANGUAGES=available_languages(german)):
        page = client.get(PAGE, headers={"Accept-Language": "de-AT,en;q=0.5"})
        english = client.get(PAGE, headers={"Accept-Language": "fr"})
        answer = client.get(API, headers={"Accept-Language": "de"})

    assert page["Content-Language"] == "de"
    assert english["Content-Language"] == "en"
    assert "Accept-Language" not in answer.get("Vary", "")
    assert "Content-Language" not in answer


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("It mentions send_mail, a tool of Gmail.", "Von Gmail: send_mail."),
        ("The archive is encrypted.", "Das Archiv ist verschlüsselt."),
        ("It mentions nothing of ours.", "It mentions nothing of ours."),
        ("", ""),
    ],
)
def test_a_stored_text_is_translated_with_its_values(german: Path, stored: str, shown: str) -> None:
    languages = override_settings(LOCALE_PATHS=[german], LANGUAGES=available_languages(german))

    with languages, translation.override("de"):
        assert translate_stored(stored) == shown


def test_what_a_worker_found_out_is_read_in_the_language_of_the_page() -> None:
    stored = "An API with 1,204 operations (OpenAPI 3.0).\nLeft out: 2 (get_x has no server; …)."

    with translation.override("de"):
        shown = [
            translate_stored(stored),
            translate_stored("The address answered with status 503."),
        ]

    assert shown == [
        "Eine API mit 1,204 Operationen (OpenAPI 3.0).\nAusgelassen: 2 (get_x has no server; …).",
        "Die Adresse antwortete mit dem Status 503.",
    ]


def test_the_list_of_stored_messages_is_current() -> None:
    """Otherwise run `python -m tests.docs`."""
    assert list(MESSAGES) == find_messages()


def test_the_reason_of_a_conflict_is_translated(german: Path) -> None:
    near = RuleInWords(PROPOSE, "Berlin", "mail", "integration")
    deny = RuleInWords(NO, "Everything", "send mail", "capability", distance=1)

    languages = override_settings(LOCALE_PATHS=[german], LANGUAGES=available_languages(german))
    with languages, translation.override("de"):
        (conflict,) = find_conflicts(near, deny)

    assert ": der nähere Raum gilt, " in conflict.sentence
