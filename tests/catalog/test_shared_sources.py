"""Real third-party sources, if they lie beside the project."""

from dataclasses import replace
from pathlib import Path

import pytest

from catalog.embedding.jobs import pending_embeddings
from catalog.formats.loader import load_path
from catalog.models import Capability, LexicalVector
from catalog.registration.register import register
from marketplace.models import Listing
from marketplace.sources.refresh import import_loaded

SHARED = Path(__file__).resolve().parents[3] / "shared"
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the folder shared is not beside the project"),
]


@pytest.mark.long
def test_samples_load_and_loading_them_again_changes_nothing() -> None:
    source = load_path(SHARED / "samples")

    first = import_loaded(loaded=source, by=None, source="import")
    second = import_loaded(loaded=source, by=None, source="import")

    assert first.registered.created == second.registered.unchanged == Capability.objects.count()
    assert first.listings.created == second.listings.unchanged == Listing.objects.count()
    assert first.registered.created > 600
    assert all(defect.file and defect.field and defect.reason for defect in first.defects)


@pytest.mark.long
def test_whole_catalogue_is_stored_with_words_and_promises() -> None:
    source = load_path(SHARED / "eval" / "toucan-mcp-catalog")

    report = register(source, by=None, source="toucan")

    assert report.created + len(report.defects) >= 5191
    assert report.created == LexicalVector.objects.count() == pending_embeddings().count()
    # The samples are loaded again whole; of this one, a part is enough.
    part = replace(source, capabilities=source.capabilities[:1000])
    again = register(part, by=None, source="toucan")
    assert (again.created, again.changed, again.unchanged + len(again.held)) == (0, 0, 1000)
    assert again.unchanged > 900
