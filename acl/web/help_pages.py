"""Help: the docs that come with this release, served by Pegboard itself."""

import re
from functools import cache
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from acl.web.frame import PageRequest, frame_of, render_page
from acl.web.markdown import document_html

DOCS = Path(settings.FILES_DIR) / "docs"
START = "README"
_NOT_SERVED = "\n## Decisions\n"  # their files are for people who have the code
_TITLE = re.compile(r"# ([^\n]{1,200})\n")


@require_GET
@login_required
def help_page(request: PageRequest, name: str = START) -> HttpResponse:
    """Show a document; the first one lists all others."""
    if name not in documents():
        raise Http404
    title, content = _rendered(name)
    context = {"title": title, "content": content, "is_start": name == START}
    return render_page(request, "help.html", context, frame=frame_of(request))


@cache
def documents() -> frozenset[str]:
    """Return the names of the documents beside the code; none where they were left out."""
    return frozenset(path.stem for path in DOCS.glob("*.md"))


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
