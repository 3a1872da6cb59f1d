"""Icons are read by the worker: once at a time, within limits, and again after a failure."""

import base64
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django.fixtures import Settings

from catalog.icons.declarations import find_or_add, icon_problem, set_icon
from catalog.models import IconImage, IconSource, Integration
from catalog.servers.icons import _reader
from catalog.servers.icons._reader import due_icons, forget_unused_icons, read_icon
from marketplace.models import Listing
from tests.factories import IntegrationFactory, ListingFactory
from tests.icons.pictures import opened, picture
from tests.sources.places import Place, place

pytestmark = pytest.mark.django_db
State = IconSource.State


@pytest.fixture(scope="module")
def _server() -> Iterator[Place]:
    with place() as played:
        yield played


@pytest.fixture
def server(_server: Place, settings: Settings) -> Place:
    """A web server on this machine, which an admin has allowed."""
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", _server.port),)
    _server.documents.clear()
    _server.redirects.clear()
    _server.hits.clear()
    return _server


def declared(address: str) -> IconSource:
    """Store an address of a listing's icon."""
    row = find_or_add([address])[address]
    ListingFactory.create(icon=row)
    return row


def read(row: IconSource) -> IconSource:
    read_icon(row.pk)
    return IconSource.objects.get(pk=row.pk)


def make_due(row: IconSource) -> None:
    IconSource.objects.filter(pk=row.pk).update(due_at=Now())


def test_icon_is_fetched_drawn_and_kept_for_a_month(server: Place) -> None:
    server.documents["/logo.png"] = picture(size=(100, 100))
    row = declared(server.at("/logo.png"))

    done = read(row)
    again = read(row)

    assert (done.state, done.attempts, done.problem) == (State.READY, 0, "")
    assert done.image is not None
    assert opened(bytes(done.image.content)).size == (64, 64)
    assert done.due_at - timezone.now() > timedelta(days=29)
    assert (again.read_at, server.hits) == (done.read_at, ["/logo.png"])  # it was not due


def test_data_address_needs_no_request_and_equal_pictures_share_a_row(
    server: Place, settings: Settings
) -> None:
    settings.PEGBOARD_FETCH_ICONS = False
    pictures = picture("PNG"), picture("WEBP", lossless=True)
    texts = [base64.b64encode(one).decode() for one in pictures]
    rows = [declared(f"data:image/png;base64,{text}") for text in texts]

    done = [read(row) for row in rows]

    assert [row.state for row in done] == [State.READY] * 2
    assert IconImage.objects.count() == 1
    assert server.hits == []


def test_nothing_is_fetched_where_an_admin_has_switched_it_off(
    server: Place, settings: Settings
) -> None:
    settings.PEGBOARD_FETCH_ICONS = False
    row = declared(server.at("/logo.png"))

    after = read(row)

    assert due_icons() == []
    assert (after.state, after.attempts, server.hits) == (State.WAITING, 0, [])
    assert icon_problem(after) == "It declares an icon, but icons are not fetched here."


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/missing.png", "The picture is not at its address."),
        ("/text", "The picture is not a picture that can be drawn."),
        ("/huge", "The response is too large."),
        ("/away", "This address is not allowed."),
        ("/loop", "The address redirects too many times."),
    ],
)
def test_failure_is_kept_with_its_reason_and_tried_again_less_and_less_often(
    server: Place, path: str, problem: str
) -> None:
    server.documents |= {"/text": b"<html>", "/huge": bytes(600_000)}
    server.redirects |= {"/away": "https://10.0.0.1/x.png", "/loop": "/loop"}
    row = declared(server.at(path))

    waits = []
    for _ in range(3):
        failed = read(row)
        waits.append(round((failed.due_at - timezone.now()) / timedelta(days=1)))
        make_due(row)

    assert (failed.state, failed.image) == (State.FAILED, None)
    assert icon_problem(failed).startswith(problem)
    assert waits == [1, 2, 4]


def test_redirect_to_another_origin_is_not_followed(server: Place) -> None:
    with place() as other:
        other.documents["/logo.png"] = picture()
        server.redirects |= {"/to": other.at("/logo.png"), "/own": "/logo.png"}
        server.documents["/logo.png"] = picture()

        away, own = (read(declared(server.at(path))) for path in ("/to", "/own"))

        assert (away.state, own.state, other.hits) == (State.FAILED, State.READY, [])


def test_refresh_that_fails_keeps_the_picture(server: Place) -> None:
    server.documents["/logo.png"] = picture()
    row = declared(server.at("/logo.png"))
    before = read(row).image
    server.documents.clear()
    make_due(row)

    after = read(row)

    assert (after.state, after.image) == (State.FAILED, before)


def test_what_ends_the_worker_every_time_is_given_up(
    server: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_: Any) -> bytes:
        raise SystemExit

    monkeypatch.setattr(_reader, "draw_picture", crash)
    server.documents["/logo.png"] = picture()
    row = declared(server.at("/logo.png"))
    for _ in range(3):
        with pytest.raises(SystemExit):
            read_icon(row.pk)
        assert due_icons() == []  # leased: nobody else takes it at once
        make_due(row)

    last = read(row)

    assert (last.state, last.problem) == (State.FAILED, "It ended the worker every time.")


def test_nothing_is_asked_for_an_unconfirmed_import_or_a_held_listing(server: Place) -> None:
    mail = IntegrationFactory.create(unconfirmed=True)
    set_icon(mail, server.at("/logo.png"))
    row = IconSource.objects.get()
    ListingFactory.create(icon=row, review="held")

    before = read(row)

    assert (before.state, server.hits, due_icons()) == (State.WAITING, [], [])
    Integration.objects.update(unconfirmed=False)
    assert due_icons() == [row.pk]
    assert set(_reader.SHOWN) == set(Listing.PASSED)  # of an app above


def test_sweep_takes_some_at_a_time_and_those_of_integrations_first() -> None:
    listed = find_or_add([f"https://a.example/{number}.png" for number in range(30)])
    for row in listed.values():
        ListingFactory.create(icon=row)
    mail = IntegrationFactory.create()
    set_icon(mail, "https://mail.example/icon.png")

    due = due_icons()

    assert len(due) == _reader.AT_ONCE
    assert due[0] == mail.icon_id


def test_what_nothing_declares_any_more_is_deleted_after_a_day(server: Place) -> None:
    server.documents |= {"/a.png": picture(), "/b.png": picture(colour=(1, 2, 3, 255))}
    kept, left = (declared(server.at(path)) for path in ("/a.png", "/b.png"))
    for row in (kept, left):
        read(row)
    left.listings.update(icon=None)

    forget_unused_icons()
    young = IconSource.objects.count()
    old = Now() - timedelta(days=2)
    IconSource.objects.update(created_at=old)
    IconImage.objects.update(created_at=old)
    forget_unused_icons()

    assert young == 2
    assert list(IconSource.objects.values_list("pk", flat=True)) == [kept.pk]
    assert IconImage.objects.count() == 1
