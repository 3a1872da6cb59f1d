"""The frame of pages: the rail in three groups, and a typeface of our own."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from django.test import Client

from acl.web.frame import extensions

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
