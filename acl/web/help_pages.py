"""Help: the docs that come with this release, served by Pegboard itself."""

import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from acl.web.frame import PageRequest, frame_of, render_page
from acl.web.markdown import document_html, heading_id

# Sections of the docs for each page, by the name of its URL.
#
# A page has a line here; `tests/pages/test_frame.py` checks that, and that each section exists.

HELP_TOPICS: dict[str, str] = {
    "today": "today",
    "first-steps": "guide-user",
    "playground": "playground",
    "chats": "playground#chatting-with-a-model",
    "chat": "playground#chatting-with-a-model",
    "chat-models": "playground#connecting-a-model",
    "my-tools": "guide-user#2-see-what-your-assistant-may-use",
    "tool": "executing#readiness",
    "try-tool": "executing#trying-a-tool",
    "tool-why": "access-pages#explain",
    "connect": "mcp",
    "requests": "guide-user#4-ask-for-what-you-need",
    "runtime-tools": "sources#at-runtime",
    "runtime-decide": "sources#at-runtime",
    "my-secrets": "integrations#accounts",
    "my-secret": "integrations#secrets",
    "find": "guide-user",
    "marketplace": "marketplace#browsing",
    "listing": "marketplace#browsing",
    "listing-install": "installing",
    "add-anything": "installing#adding-anything",
    "addition": "installing#adding-anything",
    "add-together": "installing#adding-anything",
    "installation": "installing#states",
    "installation-cancel": "installing#states",
    "proposals": "meta-tools#proposing-a-server",
    "sources": "marketplace#sources",
    "source": "marketplace#sources",
    "source-add": "marketplace#sources",
    "source-remove": "marketplace#sources",
    "health": "operations#what-is-wrong",
    "allowed-hosts": "outgoing#requests",
    "own-servers": "integrations#own-servers",
    "own-server-policy": "integrations#own-servers",
    "integrations": "integrations",
    "integration": "integrations",
    "integration-switch": "integrations",
    "integration-update": "installing#afterwards",
    "integration-repair": "installing#afterwards",
    "integration-uninstall": "installing#afterwards",
    "integration-confirm": "trust#confirming-imports",
    "integration-review": "trust#review",
    "integration-examples": "learning#example-requests",
    "approvals": "executing#approvals",
    "approval": "executing#canonical-rendering",
    "calls": "executing#the-log",
    "call": "executing#the-log",
    "call-policies": "executing#the-log",
    "insights": "insights",
    "insights-outcomes": "turns#outcomes",
    "insights-tools": "insights",
    "insights-use": "insights",
    "insights-quotas": "executing#quotas",
    "applications": "applications",
    "application": "applications",
    "application-new": "applications#what-it-may-reach",
    "application-edit": "applications#what-it-may-reach",
    "application-remove": "applications#what-it-may-reach",
    "application-conversation": "applications#conversations",
    "insights-prices": "insights#prices",
    "insights-teach": "learning#teaching",
    "access": "access-pages#matrix",
    "access-changes": "access#explanations-and-previews",
    "access-changes-save": "access#explanations-and-previews",
    "access-changes-undo": "access#explanations-and-previews",
    "access-groups": "access-pages#groups-spaces-and-rules",
    "access-group-new": "access-pages#groups-spaces-and-rules",
    "access-group": "access-pages#groups-spaces-and-rules",
    "access-group-delete": "access-pages#groups-spaces-and-rules",
    "access-group-merge": "people#merging-groups",
    "group-people": "people#many-people-at-once",
    "access-give": "access#grants-and-rules",
    "access-space": "access#spaces",
    "access-space-move": "access#spaces",
    "access-space-delete": "access#spaces",
    "access-explain": "access-pages#explain",
    "access-reach": "access-pages#explain",
    "access-holders": "access-pages#explain",
    "access-requests": "access-pages#requests",
    "access-request": "access-pages#requests",
    "access-notifications": "notifications",
    "access-notification-channel": "notifications",
    "access-risk": "access-pages#risk",
    "people-list": "people",
    "sign-in-groups": "people#openid-connect",
    "person": "people#leaving",
    "person-deactivate": "people#leaving",
    "invite": "people#invitations",
    "keys": "access#who-hands-out-what",
    "key-new": "access#who-hands-out-what",
    "key-replace": "access#who-hands-out-what",
    "key-revoke": "access#who-hands-out-what",
    "audit": "audit",
    "account": "people#signing-in",
    "account_email": "people#signing-in",
    "account_change_password": "people#signing-in",
    "notifications": "notifications",
    "notification-channel": "notifications",
    "assistants": "mcp#sign-in-by-oauth",
}
EVERYTHING = "guide-user"
EVERYTHING_FOR_STAFF = "guide-admin"


def topic_of(url_name: str | None, *, staff: bool) -> str:
    """Return the page's section as "document#heading", or the guide."""
    return HELP_TOPICS.get(url_name or "", EVERYTHING_FOR_STAFF if staff else EVERYTHING)


DOCS = Path(settings.FILES_DIR) / "docs"
START = "README"
_NOT_SERVED = "\n## Decisions\n"  # their files are for people who have the code
_TITLE = re.compile(r"# ([^\n]{1,200})\n")
_HEADING = re.compile(r"^#{1,4} ([^\n]{1,200})$", re.MULTILINE)
# The first document has a row for each task, and one for each reader, with the pages as links.
_READERS = "\n| for | pages |\n"
_ROW = re.compile(r"^\| ([^|\n]{1,80}) \| (\[[^\n]{1,2000}) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\(([^)\s]{1,300})\)")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_MARKS = re.compile(r"<!--.*?-->|-{3,}|[!`*|]|\[([^\]\n]{0,200})\]\([^)\n]{0,300}\)", re.DOTALL)
MOST_CHARACTERS, MOST_SECTIONS = 200, 20
_EXCERPT = 160  # characters around the first word
# A word in a heading says more than one in a text.
_OF_HEADING = 5


class HelpSection(NamedTuple):
    """A section of the documentation, and the part of its text that matches."""

    document: str
    heading: str
    address: str
    excerpt: str


class HelpGroup(NamedTuple):
    """Pages for one kind of reader, as the side of each page lists them."""

    label: str
    links: tuple[tuple[str, str], ...]  # text and address


@require_GET
@login_required
def help_page(request: PageRequest, name: str = START) -> HttpResponse:
    """Show a document; the first one lists all others."""
    if name not in documents():
        raise Http404
    title, content = _rendered(name)
    words = request.GET.get("q", "")[:MOST_CHARACTERS].strip()
    context = {"title": title, "content": content, "is_start": name == START, "words": words}
    context |= {"groups": help_groups(), "here": request.path}
    if words:
        context["sections"] = find_sections(words)
    return render_page(request, "help.html", context, frame=frame_of(request))


@cache
def documents() -> frozenset[str]:
    """Return the names of the documents beside the code; none where they were left out."""
    return frozenset(path.stem for path in DOCS.glob("*.md"))


def find_sections(words: str) -> list[HelpSection]:
    """Return the sections that have all words, those with them in their headings first."""
    needles = [word for word in words.casefold().split() if len(word) > 1]
    scored = []
    for name, title, heading, text in read_sections():
        folded, low_heading = text.casefold(), f"{title} {heading}".casefold()
        if not needles or not all(word in folded or word in low_heading for word in needles):
            continue
        # At the beginning of words: "an" is a part of many.
        spaced, head = f" {folded}", f" {low_heading}"
        score = sum(
            _OF_HEADING * head.count(f" {word}") + min(spaced.count(f" {word}"), _OF_HEADING)
            for word in needles
        )
        place = max(0, min((folded.find(word) for word in needles if word in folded), default=0))
        start = max(0, place - _EXCERPT // 2)
        excerpt = ("…" if start else "") + text[start : start + _EXCERPT].strip()
        page = reverse("help-page", args=[name])
        fragment = f"#{heading_id(heading)}" if heading != title else ""
        scored.append((-score, name, HelpSection(title, heading, page + fragment, excerpt)))
    return [section for _score, _name, section in sorted(scored)[:MOST_SECTIONS]]


@cache
def read_sections() -> tuple[tuple[str, str, str, str], ...]:
    """Return each section's document, its title, the heading, and the text without marks."""
    sections = []
    for name in sorted(documents() - {START}):
        text = _CODE.sub("", (DOCS / f"{name}.md").read_text("utf-8"))
        parts = _HEADING.split(text)
        title = parts[1] if len(parts) > 1 else name
        for heading, body in zip(parts[1::2], parts[2::2], strict=True):
            plain = " ".join(_MARKS.sub(r"\1", body).split())
            sections.append((name, title, heading, plain))
    return tuple(sections)


@cache
def help_groups() -> tuple[HelpGroup, ...]:
    """Return the tasks of the first document, and its pages by their readers.

    Each task has its first page. What is not served here is left out.
    """
    tasks, readers = (DOCS / f"{START}.md").read_text("utf-8").split(_READERS)[:2]
    of_tasks = [(task, pages[0][1]) for task, pages in _rows(tasks) if pages]
    groups = [HelpGroup(label, tuple(pages)) for label, pages in _rows(readers) if pages]
    return (HelpGroup("tasks", tuple(of_tasks)), *groups)


def _rows(table: str) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (label, [(text, at) for text, link in _LINK.findall(cell) if (at := _address_of(link))])
        for label, cell in _ROW.findall(table)
    ]


# They do not change while a release runs.
@cache
def _rendered(name: str) -> tuple[str, SafeString]:
    """Return a document's title and its HTML."""
    text = (DOCS / f"{name}.md").read_text("utf-8")
    title = _TITLE.match(text)
    body = text[title.end() :] if title else text
    if name == START:
        body = body.partition(_NOT_SERVED)[0]
    return title[1] if title else name, document_html(body, link=_address_of)


def _address_of(target: str) -> str | None:
    """Return the address here of a link in a document; None for one that is not served."""
    path, _, heading = target.partition("#")
    fragment = f"#{heading}" if heading else ""
    if not path:
        return fragment
    if path.startswith("https://"):
        return target
    file = PurePosixPath(path)
    if file.parent != PurePosixPath() or file.suffix != ".md" or file.stem not in documents():
        return None
    if file.stem == START:
        return reverse("help") + fragment
    return reverse("help-page", args=[file.stem]) + fragment
