"""Icons as servers and sources declare them, and the one that is chosen."""

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from catalog.formats.entry import Document
from catalog.formats.icon_choice import LONGEST_DATA, choose_icon, icon_address
from catalog.formats.mcpb import read_bundle
from catalog.formats.readers.docker_catalog import read as read_docker
from catalog.formats.readers.openapi import read_api
from catalog.formats.readers.server_json import read as read_server_json
from catalog.icons.declarations import set_icon
from catalog.models import IconSource, Integration
from catalog.servers.connections.server_requests import check_server
from marketplace.listings.store import store_offers
from marketplace.models import Listing
from marketplace.offers.offer import offer_of
from tests.connection_loops import own_connections
from tests.connections.addresses import fine_server
from tests.factories import IntegrationFactory, SourceFactory

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
