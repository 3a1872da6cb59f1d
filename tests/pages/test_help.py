"""Help: a link on each page to its section, served by Pegboard itself."""

import re
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve

from acl.web.help_pages import documents
from acl.web.help_topics import HELP_TOPICS, topic_of
from acl.web.markdown import document_html, heading_id
from tests.factories import GroupFactory, UserFactory
from tests.screens.pages import ANYTHING, SCREENS

# Pages without the frame, or that are no page of their own.
_WITHOUT = {"help", "help-page", "oauth-authorize", "account_email", "account_confirm_email"}


@pytest.fixture
def reader(db: None) -> Client:
    client = Client()
    user: User = UserFactory.create(groups=[GroupFactory.create()])
    client.force_login(user)
    return client


def test_every_document_is_served_and_its_links_lead_somewhere(reader: Client) -> None:
    pages = {f"/help/{name}/": reader.get(f"/help/{name}/") for name in sorted(documents())}
    texts = {address: page.content.decode() for address, page in pages.items()}
    texts["/help/"] = reader.get("/help/").content.decode()
    articles = {address: _article(text) for address, text in texts.items()}
    ids = {address: set(re.findall(r'id="([^"]*)"', text)) for address, text in articles.items()}

    broken = [
        (address, link)
        for address, text in articles.items()
        for link in map(unescape, re.findall(r'href="([^"]*)"', text))
        if not _leads_somewhere(address, link, ids)
    ]

    assert {page.status_code for page in pages.values()} == {200}
    assert len(pages) > 30
    assert broken == []
    for text in articles.values():
        assert not re.search(r"<(img|script|style|iframe|link)\b|\ssrc=", text)


def _article(text: str) -> str:
    return text[text.index("<article") : text.index("</article>")]


def _leads_somewhere(address: str, link: str, ids: dict[str, set[str]]) -> bool:
    parts = urlsplit(link)
    if parts.scheme:
        return parts.scheme in {"https", "mailto"}
    page = parts.path or address
    return page in ids and (not parts.fragment or parts.fragment in ids[page])


def test_every_topic_is_a_section(reader: Client) -> None:
    missing = []
    for topic in sorted(set(HELP_TOPICS.values())):
        name, _, heading = topic.partition("#")
        text = reader.get(f"/help/{name}/").content.decode()
        if heading and f'id="{heading}"' not in text:
            missing.append(topic)

    assert missing == []


def test_every_page_with_the_frame_has_a_topic() -> None:
    names = {
        resolve(urlsplit(screen.path.format_map(ANYTHING)).path).url_name
        for screen in SCREENS
        if screen.who
    }

    assert names - HELP_TOPICS.keys() - _WITHOUT == set()


def test_page_links_to_its_section(reader: Client) -> None:
    page = reader.get("/approvals/").content.decode()

    assert 'href="/help/executing/#approvals"' in page
    assert topic_of("unknown", staff=True) == "guide-admin"
    assert topic_of(None, staff=False) == "guide-user"


def test_nothing_else_is_read_from_disk(reader: Client) -> None:
    answers = [
        reader.get(f"/help/{name}/").status_code
        for name in ("nothing", "..", "adr", "..%2Fpyproject", "README.md", "a" * 300)
    ]

    assert answers == [404] * 6
    assert Client().get("/help/").status_code == 302


def test_foreign_links_and_scripts_are_left_out() -> None:
    text = "# A\n\n## Two  words\n\n[x](javascript:alert(1)) [y](../z.md) <b onclick=x>z</b>\n"

    html = document_html(text, link=lambda target: None)

    assert "href" not in html
    assert "<b" not in html
    assert heading_id("OAuth: what's new?") == "oauth-whats-new"
