"""Kinds of sources: each file of their package is one, and no other kind is read or shown."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils.translation import override

from catalog.formats.files import RefusedError
from marketplace.listings.viewer import Viewer, visible_sources
from marketplace.models import Source
from marketplace.offers import kinds
from marketplace.offers.kinds.registry import ADDED_KINDS, CHOICES, KINDS, label_kind
from marketplace.sources.refresh import refresh_source
from marketplace.sources.subscriptions import add_source, check_location
from tests.factories import SourceFactory

DOCS = Path(__file__).parents[2] / "docs" / "marketplace.md"


def test_each_file_is_a_kind_that_is_named_on_pages_and_in_the_docs() -> None:
    files = {path.stem for path in Path(kinds.__path__[0]).glob("[!_]*.py")}

    members = {kind.__name__.rpartition(".")[2] for kind in KINDS.values()}  # type: ignore[attr-defined]
    assert members == files - {"base", "registry"}
    docs = DOCS.read_text("utf-8")
    for language in ("en", "de", "es"):
        with override(language):
            assert all(label_kind(name) and f"| `{name}` |" in docs for name, _ in CHOICES)


@pytest.mark.parametrize("kind", [name for name, _ in ADDED_KINDS])
def test_address_leads_to_what_the_kind_reads(kind: str) -> None:
    answers = {}
    for place in ("https://example.com/page", "https://example.com/page.json"):
        try:
            check_location(kind, place)
        except RefusedError as refused:
            answers[place.rpartition("/")[2]] = refused.reason.partition(" (")[0]

    neither = "is neither an archive"
    expected = {
        "document": {},
        "archive": {"page": neither, "page.json": neither},
        "archive or document": {"page": neither},
    }
    assert answers == expected[KINDS[kind].PLACE]
    assert KINDS[kind].HINT


@pytest.mark.django_db
def test_others_than_admins_see_sources_of_public_kinds_only() -> None:
    for name, _ in (*CHOICES, ("pigeon", "")):  # the last is of a later version
        SourceFactory.create(kind=name, location="")

    visible = {source.kind for source in visible_sources(Viewer(is_admin=False))}

    assert visible == {name for name, kind in KINDS.items() if not kind.IS_INTERNAL}
    assert visible_sources(Viewer(is_admin=True)).count() == len(CHOICES) + 1


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["pigeon", *Source.BUILT_IN])
def test_kind_that_nobody_adds_is_refused_and_an_unknown_one_not_read(kind: str) -> None:
    root = User.objects.create_superuser("root")

    with pytest.raises(RefusedError, match="a kind that nobody adds"):
        add_source(by=root, kind=kind, location="https://example.com/x.zip")
    source = SourceFactory.create(kind="pigeon", state="queued")
    refresh_source(source.pk)

    source.refresh_from_db()
    assert (source.state, source.reason) == ("failed", "unknown_kind")
    assert "no sources of pigeon" in source.message
    assert label_kind(source.kind) == "pigeon"
