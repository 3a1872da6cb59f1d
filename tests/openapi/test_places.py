"""Addresses as people paste them: what lies beside them is found, and what was tried is told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from marketplace.additions._places import document_places, server_places
from marketplace.additions.requests import add
from marketplace.additions.worker import look_at
from marketplace.models import Addition, Listing
from tests.connections.addresses import fine_server
from tests.openapi.documents import library

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder")]
SWAGGER = "<script>SwaggerUIBundle({url: '/deep/spec/openapi.json', dom_id: '#ui'})</script>"


@contextmanager
def site(pages: dict[str, str]) -> Iterator[str]:
    """Serve some pages on this machine, and 404 for all others; POST is 405."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            body = (page or "Not found").encode()
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.send_response(405)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        allow(server.server_port)
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def allow(port: int) -> None:
    hosts = getattr(settings, "PEGBOARD_ALLOWED_PRIVATE_HOSTS", ())
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (*hosts, ("127.0.0.1", port))


def added(by: User, address: str, name: str = "") -> Addition:
    [row] = add(by=by, text=address, name=name)
    look_at(row.pk)
    row.refresh_from_db()
    return row


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize(
    ("pasted", "place", "page"),
    [
        ("", "/openapi.json", ""),
        ("/", "/v3/api-docs", ""),
        ("/api", "/api/swagger.json", ""),
        ("/api/v1", "/openapi.json", ""),
        ("/docs", "/openapi.json", ""),
        ("/docs", "/deep/spec/openapi.json", SWAGGER),
        ("/redoc", "/x/openapi.yaml", '<redoc spec-url="/x/openapi.yaml"></redoc>'),
        ("/reference", "/y/swagger.json", '<script data-url="y/swagger.json"></script>'),
        ("/help", "/z/api.json", '<a href="z/api.json">Document</a>'),
    ],
)
def test_document_is_found_beside_what_was_pasted(
    alice: User, pasted: str, place: str, page: str
) -> None:
    document = json.dumps(library(servers=[{"url": "/v1"}]))
    pages = {place: document, **({pasted: page} if page else {})}

    with site(pages) as base:
        row = added(alice, f"{base}{pasted}")
        listing = Listing.objects.get(slug=row.listing)

        assert (row.state, row.what) == (Addition.State.READY, Addition.What.API)
        assert row.document is not None
        assert row.document.address == f"{base}{place}"
        assert listing.endpoint == f"{base}/v1"


@pytest.mark.usefixtures("api")
def test_where_nothing_is_the_message_says_what_was_tried(alice: User) -> None:
    with site({"/": "<h1>Hello</h1>"}) as base:
        row = added(alice, f"{base}/")

    assert row.state == Addition.State.FAILED
    assert row.message.startswith("Neither an MCP server nor an OpenAPI document is there.")
    assert "/openapi.json" in row.message


@pytest.mark.usefixtures("api")
def test_servers_of_one_name_get_names_that_say_the_difference(alice: User) -> None:
    titles = []
    for _ in range(3):
        with fine_server(name="orders", title="Orders") as url:
            allow(int(url.split(":")[2].split("/")[0]))
            titles.append(Listing.objects.get(slug=added(alice, url).listing).title)
            again = Listing.objects.get(slug=added(alice, url).listing).title

            assert again == titles[-1]
    [clash] = add(by=alice, text="npx -y @acme/orders@1.0.0", name="Orders")

    assert titles == ["Orders", "Orders 2", "Orders 3"]
    assert (clash.state, clash.reason) == (Addition.State.FAILED, "name_taken")
    assert clash.message.startswith("This name is taken")


def test_packages_of_different_scopes_never_share_a_name(alice: User) -> None:
    pairs = [
        (scope, name)
        for scope in ("knip", "ark-ui", "auth0")
        for name in ("mcp", "mcp-server", "maps")
    ]
    rows = [add(by=alice, text=f"npx -y @{scope}/{name}")[0] for scope, name in pairs]
    again = [add(by=alice, text=f"npx -y @{scope}/{name}")[0] for scope, name in pairs]

    assert {row.state for row in rows} == {Addition.State.READY}
    assert len({row.listing for row in rows}) == len(pairs)
    assert [row.listing for row in again] == [row.listing for row in rows]
    assert [str(row) for row in rows][:3] == ["Knip", "Knip Mcp Server", "Maps"]


def test_last_slash_and_usual_paths_of_a_server_are_tried() -> None:
    assert server_places("https://a.example/mcp/?k=1") == [
        "https://a.example/mcp/?k=1",
        "https://a.example/mcp?k=1",
    ]
    assert server_places("https://a.example")[1:] == [
        "https://a.example/mcp",
        "https://a.example/sse",
    ]
    assert "https://b.example/openapi.json" not in document_places(
        "https://a.example/docs", "url: 'https://b.example/openapi.json'"
    )


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "", "/"])
def test_server_is_found_whatever_its_address_ends_in(alice: User, path: str) -> None:
    with fine_server() as url:
        base = url.removesuffix("/mcp")
        allow(int(base.split(":")[2].split("/")[0]))
        row = added(alice, f"{base}{path}")

    assert (row.state, row.what) == (Addition.State.READY, Addition.What.SERVER)
