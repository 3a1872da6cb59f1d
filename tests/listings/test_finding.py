"""Search of listings: by words at once, by meaning once a worker has embedded them."""

from datetime import date

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.lexical import DIMENSIONS
from catalog.models import EmbeddingModel, Integration
from catalog.registration.embedding_models import register_configured_model
from marketplace.listings._browse import ListingPage, browse_listings, find_listing
from marketplace.listings._filters import INSTALLED, KNOWN, UPDATES, ListingQuery
from marketplace.listings.search import describe_missing, embed_listings, pending_listings
from marketplace.listings.store import built_in_source, store_offers
from marketplace.listings.viewer import Viewer
from marketplace.models import Listing, ListingVector, ListingWords, Source
from marketplace.offers.offer import Offer, PackageTest, offer_of
from tests.catalog.builders import AbsentEmbedder, WordyEmbedder
from tests.catalog.conftest import use
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    ListingFactory,
    SourceFactory,
    UserFactory,
    give,
)

pytestmark = pytest.mark.django_db
ADMIN = Viewer(is_admin=True)
FOUND = {
    "version": "2.0",
    "tested_on": "2026-11-26",
    "state": "ready",
    "bounds": ["mcp<2"],
    "called": "list_tables",
    "packages": 3,
    "megabytes": 4.5,
    "seconds": 6.7,
}
TEXTS = {
    "time": ("Time", "Current time in any time zone, and conversion between zones."),
    "git": ("Git", "History, branches and commits of repositories."),
    "weather": ("Weather", "Forecasts for a place: rain, wind and temperature."),
    "mailer": ("Mailer", "Sends and reads e-mail."),
}


@pytest.fixture
def shop() -> Source:
    """Four listings of a source, not embedded yet."""
    register_configured_model()
    source = built_in_source("starter")
    store_offers([offer(slug) for slug in TEXTS], source=source)
    return source


def offer(slug: str, description: str = "", version: str = "1.0") -> Offer:
    title, usual = TEXTS[slug]
    return offer_of(
        IntegrationDescriptor(slug, "mcp", title, description=description or usual, version=version)
    )


def look(words: str = "", viewer: Viewer = ADMIN, **more: object) -> ListingPage:
    return browse_listings(viewer=viewer, query=ListingQuery(words=words, **more))  # type: ignore[arg-type]


def slugs(shelf: ListingPage) -> list[str]:
    return [card.listing.slug for card in shelf.cards]


def test_words_find_at_once_and_meaning_after_the_sweep(shop: Source) -> None:
    by_words, by_meaning = slugs(look("commits")), slugs(look("what o'clock is it in Tokyo?"))
    waiting = pending_listings().count()

    written = embed_listings()

    assert (by_words, waiting, written) == (["git"], len(TEXTS), len(TEXTS))
    assert by_meaning[:1] != ["time"]
    assert slugs(look("what o'clock is it in Tokyo?"))[0] == "time"
    assert slugs(look("will I need an umbrella tomorrow?"))[0] == "weather"
    assert slugs(look("Git"))[0] == "git"
    assert slugs(look("qwrtz yxcvb plmok")) == []
    assert ListingWords._meta.get_field("terms").dimensions == DIMENSIONS


def test_changed_text_is_embedded_again_and_nothing_is_embedded_twice(shop: Source) -> None:
    embed_listings()
    before = ListingVector.objects.get(listing__slug="git").vector_hash

    store_offers([offer("git", "Drinks for a party."), offer("time")], source=shop)
    found = slugs(look("beverages for guests"))
    written = (describe_missing(), embed_listings(), embed_listings())

    assert written == (0, 1, 0)
    assert found != ["git"]
    assert slugs(look("beverages for guests"))[0] == "git"
    assert ListingVector.objects.get(listing__slug="git").vector_hash != before


def test_sweep_describes_what_was_stored_or_changed_without_it(shop: Source) -> None:
    ListingFactory.create(slug="late", title="Late", description="Umbrellas")
    rain = Listing.objects.get(slug="weather")
    rain.description = "Nothing but umbrellas"
    rain.save()

    described = describe_missing()

    assert described == 2
    assert sorted(slugs(look("umbrellas"))) == ["late", "weather"]


def test_text_that_cannot_be_embedded_costs_only_itself(
    shop: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(WordyEmbedder(), monkeypatch)
    store_offers([offer("git", "poison")], source=shop)
    register_configured_model()
    describe_missing()

    embed_listings()

    bad = ListingVector.objects.get(model__name="wordy", listing__slug="git")
    good = ListingVector.objects.filter(model__name="wordy", vector__isnull=False)
    assert good.count() == len(TEXTS) - 1
    assert (bad.attempts, bad.failure, bad.vector) == (1, "cannot embed poison", None)
    assert embed_listings() == 0


def test_search_goes_by_words_while_there_is_no_model(
    shop: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_listings()
    use(AbsentEmbedder(EmbeddingModel.objects.get().name), monkeypatch)

    shelf = look("branches and commits")

    assert slugs(shelf) == ["git"]
    assert shelf.problem == "nobody answers"
    assert embed_listings() == 0


@pytest.mark.parametrize(("words", "statements"), [("", 5), ("time", 5)])
def test_a_page_needs_the_same_statements_for_any_number_of_rows(
    shop: Source, words: str, statements: int
) -> None:
    IntegrationFactory.create(slug="time", listing="time", version="0.9")
    look(words)
    with CaptureQueriesContext(connection) as few:
        look(words)
    for number in range(30):
        ListingFactory.create(title=f"Time {number}", description="time")
    describe_missing()
    with CaptureQueriesContext(connection) as many:
        shelf = look(words)

    assert (len(few), len(many)) == (statements, statements)
    assert (len(shelf.cards), shelf.pages) == (24, 2)
    assert slugs(look(words, page=99)) == slugs(look(words, page=2))


def test_filters_are_counted_with_all_others_applied(shop: Source) -> None:
    IntegrationFactory.create(slug="time", listing="time", version="0.9")
    IntegrationFactory.create(slug="git", listing="git", version="1.0")
    IntegrationFactory.create(slug="mailer", listing="mailer", state="pending")
    skills = SourceFactory.create(slug="skills")
    ListingFactory.create(slug="haiku", kind="skill", source=skills, category="writing")
    describe_missing()

    everything, installed = look(), look(show=INSTALLED)

    counts = {choice.value: choice.count for choice in everything.filters.kinds}
    assert (counts, everything.count) == ({"mcp": 4, "skill": 1}, 5)
    assert [(one.value, one.count) for one in everything.filters.sources] == [
        ("skills", 1),
        ("starter", 4),
    ]
    assert [one.count for one in everything.filters.shown] == [2, 1]
    assert [one.count for one in installed.filters.kinds] == [2]
    assert slugs(installed) == ["git", "time"]
    assert slugs(look(show=UPDATES)) == ["time"]
    assert slugs(look(kind="skill")) == slugs(look(source="skills")) == ["haiku"]
    assert slugs(look("haiku", kind="skill")) == ["haiku"]
    assert slugs(look("haiku", kind="mcp")) == []


def test_others_than_admins_learn_nothing_of_what_is_not_theirs(shop: Source) -> None:
    group = GroupFactory.create()
    bob = UserFactory.create(groups=[group])
    viewer = Viewer(is_admin=False, caller=Caller(bob.pk, group.pk))
    for slug in ("time", "git"):
        kept = IntegrationFactory.create(slug=slug, listing=slug, version="0.1")
        CapabilityFactory.create(integration=kept)
    give(Integration.objects.get(slug="git"), group)
    inside = SourceFactory.create(slug="quince", kind="mcp_json", location="")
    folder = SourceFactory.create(slug="folder", kind="skills", location="/srv/skills")
    for source in (inside, folder, None):
        ListingFactory.create(title="Quince time", source=source, category="quince", kind="channel")
    describe_missing()

    seen, searched = look(viewer=viewer), look("quince time", viewer=viewer)

    assert slugs(seen) == ["git", "mailer", "time", "weather"]
    assert slugs(searched)[:1] == ["time"]
    for shelf in (seen, searched):
        assert "quince" not in repr(shelf.filters)
        assert [one.value for one in shelf.filters.sources] == ["starter"]
    assert [card.listing.slug for card in seen.cards if card.integration] == ["git"]
    assert [one.count for one in seen.filters.shown] == [1, 0]
    assert look("quince").count == 3
    assert (
        find_listing(viewer=viewer, slug=Listing.objects.filter(source=inside).get().slug) is None
    )
    assert look(viewer=viewer, source="quince").count == 0


def test_known_to_work_is_a_filter_of_listings_that_were_tested(shop: Source) -> None:
    tested = {"type": "starter", "tested": FOUND}
    known = IntegrationDescriptor("excel", "mcp", "Excel", version="2.0", source_ref=tested)
    claimed = IntegrationDescriptor("claim", "mcp", "Claim", source_ref={"tested": FOUND})
    store_offers([offer_of(known)], source=shop)
    store_offers([offer_of(claimed)], source=SourceFactory.create(slug="other"))
    IntegrationFactory.create(slug="excel", listing="excel", version="1.0")
    describe_missing()

    everything, found, searched = look(), look(show=KNOWN), look("excel", show=KNOWN)

    assert [(one.value, one.count) for one in everything.filters.shown] == [
        (INSTALLED, 1),
        (KNOWN, 1),
        (UPDATES, 1),
    ]
    assert slugs(found) == slugs(searched) == ["excel"]
    tests = {card.listing.slug: card.test for card in everything.cards}
    assert [slug for slug, test in tests.items() if test] == ["excel"]
    assert tests["excel"] == searched.cards[0].test == PackageTest(
        "2.0", date(2026, 11, 26), "ready", ("mcp<2",), "list_tables", (), 3, 4.5, 6.7
    )  # fmt: skip
