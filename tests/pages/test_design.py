"""The design system: one set of colours and components, used by all pages."""

import re
from pathlib import Path

from django.conf import settings as configured
from django.test import Client
from pytest_django import Settings

STYLES = Path(configured.BASE_DIR) / "static" / "pegboard"
# A literal colour: by function, by number, or by name.
RAW = re.compile(
    r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\("
    r"|:[^;{]*\b(?:white|black|red|green|blue|gr[ae]y|orange|yellow|silver)\b",
    re.IGNORECASE,
)


def test_only_the_tokens_name_a_colour() -> None:
    found = {
        f"{path.name}: {line.strip()}"
        for path in STYLES.glob("*.css")
        if path.name != "tokens.css"
        for line in path.read_text().splitlines()
        if RAW.search(re.sub(r"var\([^)]*\)|/\*.*?\*/", "", line))
    }

    assert found == set()


def test_every_token_that_is_used_exists_and_every_one_that_exists_is_used() -> None:
    tokens = set(re.findall(r"^\s+(--[a-z0-9-]+):", (STYLES / "tokens.css").read_text(), re.M))
    used = set()
    for path in STYLES.glob("*.css"):
        used |= set(re.findall(r"var\((--[a-z0-9-]+)", path.read_text()))

    assert used - tokens == set()
    assert tokens - used == set()


def test_the_page_of_pieces_is_there_for_builders_only(
    as_alice: Client, settings: Settings
) -> None:
    assert as_alice.get("/design/").status_code == 404

    settings.DEBUG = True
    shown = as_alice.get("/design/")

    text = shown.content.decode()
    assert shown.status_code == 200
    for token in re.findall(r"^  --([a-z0-9-]+):", (STYLES / "tokens.css").read_text(), re.M):
        assert f"<code>{token}</code>" in text
    assert text.count('class="design-theme"') == 4
    assert "Nothing is installed yet" in text
