"""Icons are read once by the worker, within limits, and served to those who see what has them."""

import base64
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from acl.templatetags.components import HUES, hue_of, integration_icon, letter_of
from catalog.icons import find_or_add, icon_problem, set_icon
from catalog.models import IconImage, IconSource, Integration
from catalog.servers.icons import reader
from catalog.servers.icons.reader import due_icons, forget_unused_icons, read_icon
from marketplace.models import Listing
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    ListingFactory,
    SourceFactory,
    UserFactory,
    give,
)
from tests.icons.pictures import opened, picture
from tests.sessions import session_of
from tests.sources.places import Place, place

pytestmark = pytest.mark.django_db


def iconed(row: Integration | Listing, content: bytes = b"PNG") -> str:
    """Give the row an icon; return the address of its picture."""
    digest = content.hex()
    image, _ = IconImage.objects.get_or_create(digest=digest, defaults={"content": content})
    row.icon = IconSource.objects.create(
        address=f"https://x.example/{row.pk}",
        address_digest=f"{type(row).__name__}{row.pk}",
        state="ready",
        image=image,
    )
    row.save()
    return f"/icons/{image.pk}.png"


@pytest.fixture
def support() -> Group:
    return GroupFactory.create(name="Support")


@pytest.fixture
def alice(support: Group) -> Client:
    return session_of(UserFactory.create(username="alice", groups=[support]))


@pytest.fixture
def charlie() -> Client:
    return session_of(UserFactory.create(username="charlie", groups=[GroupFactory.create()]))


@pytest.fixture
def mail(support: Group) -> Integration:
    """Mail, which alice's group may use."""
    tool = CapabilityFactory.create(integration__slug="mail")
    give(tool.integration, to=support)
    return tool.integration


def test_who_may_use_the_integration_sees_its_picture(
    alice: Client, charlie: Client, mail: Integration
) -> None:
    address = iconed(mail)
    admin = session_of(UserFactory.create(is_staff=True))

    seen = [client.get(address).status_code for client in (alice, admin, charlie, Client())]

    assert seen == [200, 200, 404, 302]


def test_a_lost_right_ends_it_and_hidden_looks_like_unknown(
    alice: Client, charlie: Client, mail: Integration
) -> None:
    address = iconed(mail)
    unknown = "/icons/00000000-0000-4000-8000-000000000000.png"
    Integration.objects.filter(pk=mail.pk).update(enabled=False)

    told = [client.get(path) for client in (alice, charlie) for path in (address, unknown)]

    assert {answer.status_code for answer in told} == {404}
    assert len({len(answer.content) for answer in told[2:]}) == 1


def test_icons_of_visible_listings_are_for_everyone_who_is_signed_in(charlie: Client) -> None:
    inside = SourceFactory.create(kind="mcp_json")
    seen, held, private = (
        iconed(ListingFactory.create(), b"a"),
        iconed(ListingFactory.create(review="held"), b"b"),
        iconed(ListingFactory.create(source=inside), b"c"),
    )

    found = [charlie.get(address).status_code for address in (seen, held, private)]

    assert found == [200, 404, 404]


def test_picture_is_kept_by_the_browser_and_can_do_nothing(
    alice: Client, mail: Integration
) -> None:
    answer = alice.get(iconed(mail))

    assert answer.content == b"PNG"
    assert answer["Content-Type"] == "image/png"
    assert answer["Cache-Control"] == "private, max-age=31536000, immutable"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_pages_show_the_picture_or_a_letter(alice: Client, mail: Integration) -> None:
    before = alice.get("/tools/").content.decode()
    address = iconed(mail)

    after = alice.get("/tools/").content.decode()

    assert re.search(r'<span class="face hue-\d+" aria-hidden="true">M</span>', before)
    assert f'<img class="face" src="{address}" alt="" loading="lazy" />' in after
    assert "x.example" not in after  # no browser learns where it came from


def test_admins_see_why_an_icon_is_missing(mail: Integration) -> None:
    mail.icon = IconSource.objects.create(
        address="https://x.example/icon.png",
        address_digest="1",
        state="failed",
        problem="The picture is not at its address.",
    )
    mail.save()
    admin = session_of(UserFactory.create(is_staff=True))

    page = admin.get("/integrations/mail/").content.decode()

    assert "The picture is not at its address." in page
    assert ">M</span>" in page


@pytest.mark.parametrize(
    ("title", "letter"),
    [
        ("gmail", "G"),
        ("  (über)", "Ü"),
        ("ßtraße", "S"),
        ("7zip", "7"),
        ("邮件", "邮"),
        ("…", "?"),
        ("", "?"),
    ],
)
def test_letter_is_the_first_that_is_one(title: str, letter: str) -> None:
    assert letter_of(title) == letter
    assert hue_of(title) == hue_of(title)
    assert hue_of(title) in range(HUES)


def test_titles_are_written_as_text() -> None:
    assert "<script" not in integration_icon("<script>")


def test_letters_are_readable_on_every_hue_in_both_themes() -> None:
    """Contrast by WCAG 2 of the colours in the stylesheet."""
    styles = Path("static/pegboard/tokens.css").read_text()
    pairs = [
        re.findall(r"oklch\(([\d.]+) ([\d.]+) var\(--hue\)\)", line)
        for name in ("tint", "ink")
        for line in re.findall(rf"--face-{name}: (.*);", styles)
    ]
    hues = [int(one) for one in re.findall(r"--hue: (\d+);", styles)]

    contrasts = [
        _contrast(_light(float(a), float(b), hue), _light(float(c), float(d), hue))
        for (a, b), (c, d) in zip(*pairs, strict=True)
        for hue in hues
    ]

    assert (len(hues), len(contrasts)) == (HUES, 2 * HUES)
    assert min(contrasts) >= 4.5


def _light(lightness: float, chroma: float, hue: float) -> float:
    """Return the relative luminance of a colour in OKLCH."""
    from math import cos, radians, sin

    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short
    red, green, blue = (min(1.0, max(0.0, one)) for one in (red, green, blue))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(first: float, second: float) -> float:
    lighter, darker = max(first, second), min(first, second)
    return (lighter + 0.05) / (darker + 0.05)


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

    monkeypatch.setattr(reader, "draw_picture", crash)
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
    assert set(reader.SHOWN) == set(Listing.PASSED)  # of an app above


def test_sweep_takes_some_at_a_time_and_those_of_integrations_first() -> None:
    listed = find_or_add([f"https://a.example/{number}.png" for number in range(30)])
    for row in listed.values():
        ListingFactory.create(icon=row)
    mail = IntegrationFactory.create()
    set_icon(mail, "https://mail.example/icon.png")

    due = due_icons()

    assert len(due) == reader.AT_ONCE
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
