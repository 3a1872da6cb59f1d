"""Pictures are served to those who may see something that has them, and to nobody else."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.templatetags.integration_icons import HUES, hue_of, integration_icon, letter_of
from catalog.models import IconImage, IconSource, Integration
from marketplace.models import Listing
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    ListingFactory,
    SourceFactory,
    UserFactory,
    give,
)

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


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def support() -> Group:
    return GroupFactory.create(name="Support")


@pytest.fixture
def alice(support: Group) -> Client:
    return client_of(UserFactory.create(username="alice", groups=[support]))


@pytest.fixture
def charlie() -> Client:
    return client_of(UserFactory.create(username="charlie", groups=[GroupFactory.create()]))


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
    admin = client_of(UserFactory.create(is_staff=True))

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
    admin = client_of(UserFactory.create(is_staff=True))

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
