"""Icons as servers declare them, and pictures of strangers, decoded apart and drawn anew."""

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from catalog.formats.entry import Document
from catalog.formats.files import RefusedError
from catalog.formats.icon_choice import LONGEST_DATA, SIDE, choose_icon, icon_address
from catalog.formats.icon_pixels import PIXEL_BYTES, draw_pixels
from catalog.formats.mcpb import read_bundle
from catalog.formats.readers.docker_catalog import read as read_docker
from catalog.formats.readers.openapi import read_api
from catalog.formats.readers.server_json import read as read_server_json
from catalog.icons import set_icon
from catalog.models import IconSource, Integration
from catalog.servers.client import reader_process
from catalog.servers.connections.server_requests import check_server
from catalog.servers.icons import reader
from catalog.servers.icons.reader import draw_picture, write_png
from marketplace.listings.store import store_offers
from marketplace.models import Listing
from marketplace.offers.offer import offer_of
from tests.connection_loops import own_connections
from tests.connections.addresses import fine_server
from tests.factories import IntegrationFactory, SourceFactory
from tests.icons.pictures import RED, animation, bomb, opened, picture, talkative, text_bomb

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
REFUSED = {
    "nothing": (b"", "is not a picture"),
    "text": (b"<html>", "is not a picture"),
    "vector graphic": (SVG, "is not a picture"),
    "another format": (picture("TIFF"), "is not a picture"),
    "half a file": (picture(size=(200, 200), colour=(1, 2, 3, 4))[:-30], "is not a picture"),
    "a bomb": (bomb(), "has more than 4,000,000 pixels"),
    "too many pixels": (picture(size=(2_001, 2_000)), "has more than 4,000,000 pixels"),
    "bomb of texts": (text_bomb(), "is not a picture"),
    "tiny": (picture(size=(7, 7)), "is smaller than 8 pixels"),
    "a strip": (picture(size=(400, 40)), "is too long for an icon"),
    "nothing to see": (picture(colour=(9, 9, 9, 0)), "shows nothing"),
}


@pytest.mark.processes
def test_picture_drawn_apart_has_the_same_pixels_as_here(settings: Settings) -> None:
    settings.PEGBOARD_CELL = "preferred"
    given = picture("WEBP", size=(300, 150), lossless=True)

    drawn = draw_picture(given)

    image = opened(drawn)
    assert (image.size, image.mode) == ((SIDE, SIDE), "RGBA")
    assert image.tobytes() == draw_pixels(given)
    assert image.getpixel((32, 32)) == RED
    assert image.getpixel((32, 5)) == (0, 0, 0, 0)  # beside a wide picture nothing is drawn


@pytest.mark.processes
def test_reader_ends_within_its_memory_whatever_it_is_given(settings: Settings) -> None:
    settings.PEGBOARD_CELL = "preferred"
    for given, reason in (REFUSED["a bomb"], REFUSED["bomb of texts"], REFUSED["text"]):
        with pytest.raises(RefusedError) as refused:
            draw_picture(given)

        assert refused.value.reason.startswith(reason)


@pytest.mark.processes
def test_no_picture_is_drawn_where_cells_are_required_and_missing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL = "required"
    monkeypatch.setattr(reader_process, "cell_problem", lambda: "No namespace")

    with pytest.raises(RefusedError) as refused:
        draw_picture(picture())

    assert "No namespace" in refused.value.reason


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "ICO"])
def test_usual_kinds_are_drawn(kind: str) -> None:
    options: dict[str, Any] = {"sizes": [(48, 48)]} if kind == "ICO" else {}

    pixels = draw_pixels(picture(kind, size=(48, 48), **options))

    assert len(pixels) == PIXEL_BYTES
    red, green, blue, alpha = pixels[PIXEL_BYTES // 2 : PIXEL_BYTES // 2 + 4]
    assert red > 150 > green
    assert (blue < 90, alpha) == (True, 255)


def test_of_an_animation_the_first_frame_is_drawn() -> None:
    pixels = draw_pixels(animation())

    assert pixels[:4] == bytes(RED)


def test_nothing_but_pixels_of_a_file_remains() -> None:
    png = write_png(draw_pixels(talkative()), side=SIDE)

    assert b"SECRET" not in png
    assert b"script" not in png
    assert opened(png).info == {}
    assert png.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused(name: str) -> None:
    given, reason = REFUSED[name]

    with pytest.raises(RefusedError) as refused:
        draw_pixels(given)

    assert refused.value.reason.startswith(reason)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\n",
        b"[]\n",
        b"{}\n",
        b'{"drawn":1}\n' + bytes(PIXEL_BYTES),
        b'{"drawn":true}\n',
        b'{"drawn":true}\n' + bytes(PIXEL_BYTES - 1),
        b'{"drawn":true}\n' + bytes(PIXEL_BYTES + 1),
        b"\xff\n" + bytes(PIXEL_BYTES),
    ],
)
def test_a_broken_reader_yields_no_picture(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr(reader, "read_apart", lambda *_, into, **__: into.write(said))

    with pytest.raises(RefusedError) as refused:
        draw_picture(b"any")

    assert "an answer that is none" in refused.value.reason


def test_written_pictures_are_read_by_others_pixel_by_pixel() -> None:
    pixels = bytes(number * 7 % 256 for number in range(PIXEL_BYTES))

    png = write_png(pixels, side=SIDE)

    assert opened(png).tobytes() == pixels
    with pytest.raises(ValueError, match="not the pixels"):
        write_png(pixels[:-4], side=SIDE)


LOGO = "https://cdn.example/logo.png"
DATA = "data:image/png;base64,iVBORw0KGgo="


def icon(src: str = LOGO, **more: Any) -> dict[str, Any]:
    return {"src": src, **more}


@pytest.mark.parametrize(
    ("declared", "chosen"),
    [
        (None, ""),
        ("https://cdn.example/logo.png", ""),
        ([icon()], LOGO),
        (icon(), LOGO),
        ([{"src": 7}, 3, {}, icon()], LOGO),
        ([icon("https://a.example/16.png", sizes=["16x16"]), icon(sizes=["64x64"])], LOGO),
        ([icon("https://a.example/big.png", sizes=["512x512"]), icon(sizes=["96x96"])], LOGO),
        ([icon("https://a.example/16.png", sizes=["16x16"]), icon(sizes=["32x32"])], LOGO),
        ([icon("https://a.example/dark.png", theme="dark"), icon(theme="light")], LOGO),
        ([icon("https://a.example/logo.svg"), icon()], LOGO),
        ([icon("https://a.example/x", mimeType="image/svg+xml")], ""),
        ([icon("javascript:alert(1)"), icon("file:///etc/passwd"), icon("ftp://a/b.png")], ""),
        ([icon(DATA)], ""),
    ],
)
def test_the_icon_that_fits_best_is_chosen(declared: Any, chosen: str) -> None:
    assert choose_icon(declared) == chosen


def test_servers_may_send_a_picture_itself_within_limits() -> None:
    long = "data:image/png;base64," + "A" * LONGEST_DATA
    vector = "data:image/svg+xml;base64,AAAA"

    chosen = [choose_icon([icon(one)], data_too=True) for one in (DATA, long, vector, "data:,x")]

    assert chosen == [DATA, "", "", ""]


def test_secrets_in_an_address_are_left_out() -> None:
    address = icon_address("https://user:hunter22@cdn.example/logo.png?token=abcdef0123456789")

    assert "hunter22" not in address
    assert "abcdef" not in address


def test_formats_read_the_icons_that_they_know() -> None:
    server = {"name": "io.example/x", "packages": [], "icons": [icon()]}
    docker = {"name": "x", "type": "server", "image": "mcp/x", "about": {"icon": LOGO}}
    bundle = {"name": "x", "icon": LOGO, "server": {"type": "node", "entry_point": "x.js"}}
    paths = {"/x": {"get": {"operationId": "x", "responses": {}}}}
    info = {"title": "X", "version": "1", "x-logo": {"url": LOGO}}
    api = {"openapi": "3.0.0", "info": info, "servers": [{"url": LOGO}], "paths": paths}

    read = [
        read_server_json(Document(file="server.json", value=server)).integrations[0],
        read_docker(Document(file="server.yaml", value=docker)).integrations[0],
        read_bundle(bundle, address="https://x.example/x.mcpb", digest="0").integrations[0],
        read_api(api, file="api.json").integration,
    ]

    assert [one.source_ref["icon"] for one in read] == [LOGO] * 4


@pytest.mark.django_db
def test_listings_of_a_source_share_the_row_of_an_address() -> None:
    source = SourceFactory.create()
    servers = [{"name": f"io.example/{x}", "packages": [], "icons": [icon()]} for x in "ab"]
    loaded = read_server_json(Document(file="page", value=[*servers, {**servers[0], "name": "c"}]))

    for _ in range(2):
        store_offers([offer_of(one) for one in loaded.integrations], source=source)

    [row] = IconSource.objects.all()
    assert (row.address, row.state) == (LOGO, "waiting")
    assert set(Listing.objects.values_list("icon", flat=True)) == {row.pk}


@pytest.mark.django_db
def test_icon_follows_what_is_declared() -> None:
    mail = IntegrationFactory.create(slug="mail")

    for address in (LOGO, LOGO, "https://cdn.example/new.png", ""):
        set_icon(mail, address)

    assert list(IconSource.objects.values_list("address", flat=True)) == [
        LOGO,
        "https://cdn.example/new.png",
    ]
    assert Integration.objects.get(slug="mail").icon is None


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.django_db(transaction=True)
def test_a_server_s_own_icon_is_kept_at_its_check_and_beats_its_source_s(
    settings: Settings, transport: str
) -> None:
    """Protocols 2026-07-28 and 2025-11-25 say it at different places."""
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", None),)
    declared = []

    for own in (DATA, ""):
        with fine_server(transport, icon=own) as url, own_connections():
            row = IntegrationFactory.create(
                transport=transport, endpoint=url, source_ref={"icon": LOGO}
            )
            check_server(row)
        row.refresh_from_db()
        declared.append(row.icon and row.icon.address)

    assert declared == [DATA, LOGO]
