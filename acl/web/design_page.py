"""Every token and piece of the pages on one page, for those who build them."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.staticfiles import finders
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_GET

from acl.web.frame import PageRequest, frame_of, render_page

_TOKEN = re.compile(r"^  --([a-z0-9-]+): ([^;]{1,200}+);", re.MULTILINE)
_SYMBOL = re.compile(r'<symbol id="([a-z0-9-]+)"')
TONES = (
    ("", "info", "plain"),
    ("good", "check", "good"),
    ("note", "clock", "note"),
    ("caution", "triangle-alert", "caution"),
    ("danger", "x", "danger"),
)
STEPS = (
    ("done", "circle-check", "Found", "done"),
    ("now", "circle-dashed", "Being fetched", "under way"),
    ("failed", "circle-x", "Started", "failed"),
    ("stopped", "ban", "Approved", "stopped"),
    ("ahead", "circle", "Ready", "not yet"),
)


READINESSES = [
    SimpleNamespace(state=state, label=label, sentence="Why it is so.")
    for state, label in (
        ("ready", "Ready"),
        ("asks_first", "Asks first"),
        ("needs_you", "Needs you"),
        ("needs_admin", "Needs an admin"),
        ("failing", "Failing"),
        ("described_only", "Carried out by your application"),
    )
]


@dataclass(frozen=True, slots=True)
class Token:
    """A name and what it stands for, as the stylesheet has them."""

    name: str
    value: str


@login_required
@require_GET
def design(request: PageRequest) -> HttpResponse:
    """Tokens and pieces in both themes; only where Pegboard is being built."""
    if not settings.DEBUG:
        raise Http404
    tokens = [Token(*parts) for parts in _TOKEN.findall(_static("tokens.css"))]
    context = {
        "colours": [token for token in tokens if "oklch" in token.value],
        "sizes": [token for token in tokens if token.value.endswith(("px", "rem"))],
        "others": [token for token in tokens if not re.search(r"oklch|px$|rem$", token.value)],
        "icons": _SYMBOL.findall(_static("icons.svg")),
        "themes": ("light", "dark"),
        "tones": TONES,
        "readinesses": READINESSES,
        "steps": STEPS,
        "choices": [("", "Everything"), ("off", "Switched off")],
        "item": SimpleNamespace(
            score=0.82, evidence={"meaning": 0.5, "words": 0.3, "graph": 0.15, "use": 0.05}
        ),
        "selection": SimpleNamespace(tokens_selected=1412, tokens_all=85315),
        "field": SimpleNamespace(name="wrong", errors=["There is no group of this name."]),
    }
    return render_page(request, "design.html", context, frame=frame_of(request))


def _static(name: str) -> str:
    path = finders.find(f"pegboard/{name}")
    if not isinstance(path, str):
        raise Http404
    return Path(path).read_text()
