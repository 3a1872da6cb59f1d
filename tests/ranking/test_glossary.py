"""English glosses for messages in other languages."""

import csv
from importlib.resources import files

import pytest

from discovery.select._glossary import LANGUAGES, add_english, is_verb, language_of
from tests.ranking.tool_texts import MESSAGES


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("Wie wird das Wetter morgen in Berlin?", "german"),
        ("Rappelle-moi d'acheter du lait", "french"),
        ("Envía un correo a mi jefe", "spanish"),
        ("Qual é a previsão do tempo para Lisboa?", "portuguese"),
        ("Cerca un parcheggio vicino a me", "italian"),
        ("Vertaal deze tekst naar het Engels", "dutch"),
        ("Schicke Anna eine Mail", "german"),
        ("Jaka jest pogoda w Gdańsku?", "polish"),
        ("Przypomnij Ani o spotkaniu", "polish"),
        ("open the file in my folder", ""),
        ("weather", ""),
        ("", ""),
    ],
)
def test_language_is_recognised(message: str, language: str) -> None:
    assert language_of(message) == language


def test_known_words_are_added_in_english() -> None:
    texts = add_english(("Schicke eine Mail und prüfe das Wetter", "Schicke eine Mail"))

    assert texts == (
        "Schicke eine Mail und prüfe das Wetter (send email check weather)",
        "Schicke eine Mail (send email)",
    )


def test_small_words_are_not_looked_up() -> None:
    assert add_english(("manda um e-mail para o contador",)) == (
        "manda um e-mail para o contador (send email accountant)",
    )


def test_what_is_quoted_does_not_make_a_message_foreign() -> None:
    message = 'what does "das ist mir nicht ganz klar" mean'

    assert add_english((message,)) == (message,)


@pytest.mark.parametrize("message", [each for each in MESSAGES if "to-do" not in each])
def test_english_stays_as_it_is(message: str) -> None:
    assert add_english((message,)) == (message,)


@pytest.mark.parametrize("verb", ["open", "Raise", "file", "submit", "log", "create"])
@pytest.mark.parametrize("ticket", ["a ticket", "new tickets", "the support ticket", "ticket"])
def test_ticket_that_is_opened_is_an_issue(verb: str, ticket: str) -> None:
    message = f"{verb} {ticket} for the printer"

    assert add_english((message,)) == (f"{message} (create an issue)",)


@pytest.mark.parametrize(
    ("message", "added"),
    [("book a ticket to Lyon", ""), ("what is on my to-do list?", " (tasks)"),
     ("make slides of it", " (presentation)"), ("file the ticketing report", "")],
)  # fmt: skip
def test_everyday_words_get_what_tools_call_them(message: str, added: str) -> None:
    assert add_english((message,)) == (message + added,)


def test_verbs_of_other_languages_begin_a_task() -> None:
    assert all(map(is_verb, ("schicke", "Envoie", "busca", "stuur")))
    assert not is_verb("wetter")


def test_every_row_knows_every_language() -> None:
    with (files("discovery.select") / "glossary.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))

    assert len(rows) > 120
    assert all(row[language] for row in rows for language in LANGUAGES)
