"""The frame of all pages: design, weight, help, sessions, and third-party texts as text."""

import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from acl.web.frame import extensions
from acl.web.help_pages import (
    DOCS,
    HELP_TOPICS,
    MOST_SECTIONS,
    documents,
    find_sections,
    help_groups,
    topic_of,
)
from acl.web.markdown import document_html, heading_id, safe_html
from catalog.models import Capability
from catalog.schemas import list_parameters
from discovery.insights.pages.charts import draw_sparkline
from tests.factories import GroupFactory, UserFactory
from tests.pages.conftest import PASSWORD
from tests.screens.pages import ANYTHING, SCREENS

FONTS = Path("static/pegboard/fonts")
TOKENS = Path("static/pegboard/tokens.css")


@pytest.mark.parametrize("staff", [True, False])
def test_rail_keeps_each_group_together(staff: bool) -> None:
    sections = [place.section for place in extensions.places_for(staff=staff)]

    changes = [after for before, after in pairwise(["", *sections]) if before != after]
    assert changes == ["use", "govern", "operate"]


def test_pages_bring_their_typeface_and_begin_with_it(as_alice: Client) -> None:
    page = as_alice.get("/tools/").content.decode()
    sources = re.findall(r'url\("([^"]+)"\)', TOKENS.read_text())

    assert re.search(r'rel="preload"\s+href="[^"]*inter-latin[^"]*"\s+as="font"', page)
    assert {f"fonts/{path.name}" for path in FONTS.glob("*.woff2")} == set(sources)
    assert all((TOKENS.parent / source).read_bytes()[:4] == b"wOF2" for source in sources)
    assert "size-adjust" in TOKENS.read_text()
    assert "SIL Open Font License" in (FONTS / "inter.LICENSE.txt").read_text()


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


def test_nothing_stands_in_the_page_that_the_policy_would_refuse(
    as_alice: Client, gmail: Capability
) -> None:
    for path in ("/", "/?message=email", "/tools/", "/tools/gmail__send_email/", "/sign-in/"):
        text = as_alice.get(path).content.decode()

        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", text), path


def test_the_policy_is_strict_on_our_pages(as_alice: Client, gmail: Capability) -> None:
    policy = as_alice.get("/tools/")["Content-Security-Policy"]

    assert "unsafe" not in policy
    assert "default-src 'self'" in policy


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


PAGES = ("/", "/today/", "/tools/", "/chat/", "/marketplace/", "/tools/connections/", "/approvals/")
ASKS = re.compile(r"(ask|tell|give) an admin", re.IGNORECASE)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("in_group", [True, False])
def test_admin_is_shown_the_way_on(
    as_admin: Client, admin: User, path: str, in_group: bool
) -> None:
    admin.groups.set([GroupFactory.create(name="everyone")] if in_group else [])

    response = as_admin.get(path, follow=True)
    page = response.content.decode().partition("<main")[2]
    assert not ASKS.search(" ".join(re.sub(r"<[^>]+>", " ", page).split()))


def test_admin_without_a_tool_that_fits_may_search_the_marketplace(
    as_admin: Client, gmail: object
) -> None:
    page = as_admin.get("/", {"message": "book a hotel in Rome"}).content.decode()

    assert "/marketplace/?q=book%20a%20hotel%20in%20Rome" in page
    assert "Ask an admin" not in page


def test_a_single_group_is_not_named_and_everyone_is_a_word(as_alice: Client, alice: User) -> None:
    everyone = GroupFactory.create(name="everyone")
    alice.groups.set([everyone])
    alone = as_alice.get("/tools/").content.decode()
    alice.groups.add(GroupFactory.create(name="Sales"))
    several = as_alice.get("/tools/").content.decode()

    assert ">everyone<" not in alone + several
    assert "group-name" not in alone
    assert ">Everyone<" in several


SCRIPT = "<script>alert(1)</script>"


def test_the_message_itself_is_escaped(as_alice: Client, gmail: Capability) -> None:
    for output in ("", "prompt", "mcp"):
        response = as_alice.get("/", {"message": SCRIPT, "output": output})

        assert SCRIPT not in response.content.decode()


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.example/pixel.png)",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:msgbox)",
        '[x](https://ok.example "\\" onmouseover=alert(1)")',
        "<svg onload=alert(1)>",
        "<style>body{display:none}</style>",
        "| a |\n| :-: |\n| b |",
    ],
)
def test_markdown_leaves_nothing_that_runs_loads_or_styles(markdown: str) -> None:
    parts = _Parts()

    parts.feed(safe_html(markdown))

    assert parts.tags <= {"p", "a", "em", "table", "thead", "tbody", "tr", "th", "td"}
    assert parts.attributes <= {"href", "title", "rel"}
    assert all(address.startswith("https://ok.example") for address in parts.addresses)


class _Parts(HTMLParser):
    """The elements and attributes as a browser sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name == "href"]


def test_markdown_links_say_nothing_about_where_one_came_from() -> None:
    assert 'rel="noopener noreferrer nofollow"' in safe_html("[x](https://ok.example)")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": []},
        {"properties": {"a": "text"}, "required": "a"},
        {"properties": {"a": {"enum": 1, "anyOf": [1], "items": []}}, "required": [{}, 1]},
        {"properties": {"a": {"type": "array", "items": {"type": ["string", "null"]}}}},
    ],
)
def test_a_schema_with_things_in_the_wrong_place_is_still_shown(schema: dict) -> None:
    assert [parameter.name for parameter in list_parameters(schema)] in ([], ["a"])


def test_parameters_keep_their_order_and_needed_ones_their_places() -> None:
    many: dict[str, dict] = {f"cc{number}": {} for number in range(100)}

    assert [one.name for one in list_parameters({"properties": {"cc": {}, "to": {}}})] == [
        "cc",
        "to",
    ]
    listed = list_parameters({"properties": {**many, "to": {}}, "required": ["to"]})
    assert [one.name for one in listed] == [*list(many)[:59], "to"]


def test_signing_in_leads_to_today(client: Client, alice: User) -> None:
    response = client.post("/sign-in/", {"login": "alice", "password": PASSWORD})

    assert response["Location"] == "/today/"


def test_a_wrong_password_is_explained_without_saying_which(client: Client, alice: User) -> None:
    answers = [
        client.post("/sign-in/", {"login": name, "password": "wrong"}).content.decode()
        for name in ("alice", "nobody")
    ]

    assert all("The user name or password is wrong." in answer for answer in answers)


def test_guessing_is_locked_out_with_an_explanation(
    client: Client, alice: User, settings: Settings
) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        response = client.post("/sign-in/", {"login": "alice", "password": "wrong"})

    assert response.status_code == 429
    assert "Too many attempts" in response.content.decode()


def test_signing_out_takes_a_post(as_alice: Client) -> None:
    assert as_alice.get("/sign-out/").status_code == 405
    assert as_alice.post("/sign-out/")["Location"] == "/sign-in/"


def test_a_group_of_others_cannot_be_chosen(as_alice: Client) -> None:
    foreign = GroupFactory.create()

    assert as_alice.post("/group/", {"group": foreign.pk}).status_code == 404


@pytest.mark.parametrize("group", ["", "many"])
def test_no_group_at_all_cannot_be_chosen(as_alice: Client, group: str) -> None:
    assert as_alice.post("/group/", {"group": group}).status_code == 404


def test_choosing_a_group_never_leads_to_another_site(as_alice: Client, alice: User) -> None:
    own = alice.groups.get()

    response = as_alice.post("/group/", {"group": own.pk, "next": "https://evil.example/"})

    assert response["Location"] == "/tools/"


def test_a_form_without_its_token_is_refused_in_words(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)

    response = client.post("/tools/requests/", {"wish": "Everything"})

    assert response.status_code == 403
    assert "This form has expired" in response.content.decode()


def test_htmx_loads_its_page_anew_when_the_session_has_ended(client: Client) -> None:
    response = client.get("/tools/", headers={"HX-Request": "true"}, follow=True)

    assert response["HX-Refresh"] == "true"


def test_an_unknown_address_says_so_in_words(as_alice: Client) -> None:
    response = as_alice.get("/spoon/")

    assert response.status_code == 404
    assert "Page not found" in response.content.decode()


def test_every_section_of_the_documentation_is_found_by_its_heading(reader: Client) -> None:
    for name in sorted(documents() - {"README"}):
        text = re.sub("(?ms)^```.*?^```", "", (DOCS / f"{name}.md").read_text())
        for heading in re.findall(r"^##? (.{1,200})$", text, re.MULTILINE):
            if "`" not in heading and "*" not in heading:
                assert any(
                    section.heading == heading and section.address.startswith(f"/help/{name}/")
                    for section in find_sections(heading)
                ), (name, heading)


@given(st.text(max_size=250))
def test_search_of_the_documentation_answers_anything(words: str) -> None:
    sections = find_sections(words)

    assert all(section.excerpt or section.heading for section in sections)
    assert len(sections) <= MOST_SECTIONS
    assert not find_sections(f"zwiebelkuchen {words}")


def test_search_of_the_documentation_leads_to_the_heading(reader: Client) -> None:
    page = reader.get("/help/", {"q": "own servers"}).text

    assert 'href="/help/integrations/#own-servers"' in page
    assert "<article" not in page
    assert "Nothing matches" in reader.get("/help/", {"q": "zwiebelkuchen"}).text


# A group's name on a page: a value in `value=""`, in a choice that is sent, or one that is typed
# to confirm is the stored name.
_GROUP_NAME = re.compile(r"(?<![\w.])(?:\w+\.)*group\.name(?!\w)(\|group_name)?")


@pytest.mark.parametrize(
    "template", sorted(Path("templates").rglob("*.html")), ids=lambda path: path.name
)
def test_every_page_shows_the_group_of_everyone_by_its_word(template: Path) -> None:
    bare = [
        line.strip()
        for line in template.read_text("utf-8").splitlines()
        for match in _GROUP_NAME.finditer(line)
        if not match[1] and 'value="{{' not in line and "chosen=" not in line
    ]

    assert template.name == "_typed_name.html" or bare == []


def test_the_documentation_begins_with_tasks_whose_pages_are_here(reader: Client) -> None:
    tasks, *readers = help_groups()

    assert len(tasks.links) == 10
    assert {group.label for group in readers} >= {"operators", "chat backends"}
    for group in (tasks, *readers):
        for _text, address in group.links:
            path, _, fragment = address.partition("#")
            page = reader.get(path).content.decode()
            assert not fragment or f'id="{fragment}"' in page, address
            assert f'href="{address}"' in page  # beside every page


def test_a_quiet_week_is_a_sentence_and_one_point_is_no_line(
    as_alice: Client, gmail: Capability
) -> None:
    quiet = as_alice.get("/today/").content.decode()

    assert "No assistant has asked for tools yet." in quiet
    assert "sparkline" not in quiet
    assert draw_sparkline([0, 0, None, 3]) == ""
    assert "<svg" in draw_sparkline([0, 2, None, 3])
