"""The pages of sources: adding, progress, results, removal."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.models import Integration
from marketplace.models import Listing, Source
from tests.factories import ListingFactory, SourceFactory, UserFactory

pytestmark = pytest.mark.django_db
AT = "/marketplace/sources/"


@pytest.fixture
def admin(client: Client) -> Client:
    root: User = UserFactory.create(username="root", is_staff=True)
    client.force_login(root)
    return client


def text(client: Client, path: str, **headers: str) -> str:
    return " ".join(client.get(path, headers=headers).content.decode().split())


def test_source_is_added_read_now_changed_and_removed(admin: Client) -> None:
    wanted = {"kind": "registry", "location": "https://registry.example", "schedule_hours": "6"}

    added = admin.post("/marketplace/add-source/", wanted)
    source = Source.objects.get()
    waiting = text(admin, AT)
    Source.objects.update(state="ready")
    again = admin.post(f"{AT}{source.slug}/refresh/", {"list": "1"})
    Source.objects.update(state="ready", schedule_hours=6)
    changed = admin.post(f"{AT}{source.slug}/", {"schedule_hours": "0"})
    Integration.objects.create(slug="kept", kind="mcp", title="Kept", listing="kept")
    ListingFactory.create(source=source, slug="kept")
    ListingFactory.create(source=source)
    asked = text(admin, f"{AT}{source.slug}/remove/")
    removed = admin.post(f"{AT}{source.slug}/remove/")

    assert (added.status_code, added["Location"]) == (302, f"{AT}registry-example/")
    assert "queued" in waiting
    assert 'hx-trigger="every 2s"' in waiting
    assert again["Location"] == AT
    assert changed.status_code == 302
    assert "2 listings will leave" in asked
    assert "1 of them is installed. It stays" in asked
    assert removed["Location"] == AT
    assert not Source.objects.exists()
    assert Listing.objects.get().slug == "kept"


@pytest.mark.parametrize(
    ("kind", "location", "words"),
    [
        ("registry", "https://127.0.0.1/x", "Use a public https address"),
        ("skills", "/etc", "PEGBOARD_SOURCE_DIRS"),
        ("skills", "https://example.com/", "is neither an archive"),
        ("starter", "https://example.com/", "Select a valid choice"),
        ("registry", "", "This field is required"),
    ],
)
def test_wrong_place_is_told_at_its_field(
    kind: str, location: str, words: str, admin: Client
) -> None:
    form = {"kind": kind, "location": location, "schedule_hours": "24"}

    answer = admin.post("/marketplace/add-source/", form)

    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Source.objects.exists()


def test_report_is_told_in_pages_and_without_its_markup(admin: Client) -> None:
    defects = [
        {"file": f"f{number}.json", "field": "name", "reason": "<script>x</script>"}
        for number in range(60)
    ]
    report = {"created": 3, "changed": 0, "unchanged": 1, "vanished": 0, "complete": False}
    own = SourceFactory.create(slug="own", report=report | {"defects": defects})
    ListingFactory.create(source=own, vanished_at=timezone.now())

    first, second = text(admin, f"{AT}own/"), text(admin, f"{AT}own/?page=2")
    part = text(admin, f"{AT}own/", **{"HX-Request": "true"})

    assert "f0.json" in first
    assert "f59.json" not in first
    assert "f59.json" in second
    assert "&lt;script&gt;" in first
    assert "The last refresh did not reach the end" in first
    assert all(
        "incomplete" in page and "up to date" not in page for page in (first, text(admin, AT))
    )
    assert "3 new, 0 changed" in first
    assert "<html" not in part
    assert admin.get(f"{AT}none/").status_code == 404
    assert admin.get(f"{AT}own/remove/").status_code == 200


@pytest.mark.parametrize(
    ("kind", "state", "refreshable", "said", "unsaid"),
    [
        ("starter", "ready", True, "up to date", "Not read yet"),
        ("added", "ready", False, "loaded", "up to date"),
        ("import", "ready", False, "loaded", "Not read yet"),
        ("registry", "new", True, "not read yet", "up to date"),
    ],
)
def test_source_that_cannot_be_read_again_offers_no_refresh_and_no_such_state(
    admin: Client, kind: str, state: str, refreshable: bool, said: str, unsaid: str
) -> None:
    SourceFactory.create(slug="one", kind=kind, state=state)

    for path in (AT, f"{AT}one/"):
        page = text(admin, path)
        assert said in page
        assert unsaid not in page
        assert (f"{AT}one/refresh/" in page) is refreshable
    told = " ".join(admin.post(f"{AT}one/refresh/", follow=True).content.decode().split())

    assert ("to refresh it." in told) is not refreshable
    assert ("one by one" in told) is (kind == "added")


def test_list_says_how_each_stands_in_as_many_statements_for_twenty(admin: Client) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            text(admin, AT)
        return len(captured)

    empty = text(admin, AT)
    ago = timezone.now() - timedelta(hours=3)
    SourceFactory.create(state="refreshing", done=40, total=100)
    SourceFactory.create(state="failed", message="Nothing was found at this address.")
    statements()
    two = statements()
    SourceFactory.create(kind="starter", location="", refreshed_at=ago)
    SourceFactory.create(enabled=False)
    for _ in range(17):
        ListingFactory.create()

    listed = text(admin, AT)

    assert "No sources yet" in empty
    assert statements() == two
    assert "Not read yet" not in listed
    for words in (
        "40 of 100",
        "Nothing was found at this address.",
        "paused",
        "3",
        "1 listing",
    ):
        assert words in listed
    assert "21 sources" in listed
