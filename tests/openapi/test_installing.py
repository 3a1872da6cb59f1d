"""Addresses as people paste them, and installed documents: an API's operations are tools."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User

from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.readers.openapi import read_api
from catalog.models import ApiDocument, Capability, Definition, Integration, Sync
from catalog.servers.client.server_problems import Reason
from catalog.servers.secrets.store import set_secret
from catalog.servers.tasks import sync_definitions
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import execute
from discovery.calls.view import describe_call
from discovery.mcp.server.runnable_tools import listed_tools
from discovery.models import Call
from marketplace.additions.recognition import document_places, server_places
from marketplace.additions.requests import add
from marketplace.additions.worker import look_at
from marketplace.installs.requests import retry_install, start_install
from marketplace.installs.worker import install
from marketplace.models import Addition, Installation, Listing
from tests.calls.worker import run_call
from tests.connections.addresses import fine_server
from tests.factories import GroupFactory, UserFactory
from tests.installs.installs import worked
from tests.local_servers import Handler, serve
from tests.openapi.documents import library
from tests.openapi.mock import Answer, MockApi

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder")]

State = Installation.State


def describe(api: MockApi, **more: Any) -> IntegrationDescriptor:
    """The served document as it was fetched and shown, with what was chosen of it."""
    text_of = api.raw
    document = ApiDocument.of(json.dumps(text_of), address=f"{api.url}/openapi.json")
    document.save()
    read = read_api(text_of, file="api", address=api.url).integration
    return replace(
        read, source_ref={**read.source_ref, "document": str(document.public_id), **more}
    )


@pytest.fixture
def readers() -> Group:
    return GroupFactory.create(name="readers")


@pytest.fixture
def bob(readers: Group) -> Caller:
    return Caller(UserFactory.create(username="bob", groups=[readers]).pk, readers.pk)


def installed(
    api: MockApi, alice: User, readers: Group, *, secret: bool = True, **more: Any
) -> Installation:
    secrets = {"KEY": "s3cret-key"} if secret else {}
    one = start_install(
        by=alice, descriptor=describe(api, **more), groups=[readers], secrets=secrets
    )
    worked(one)
    return one


def called(bob: Caller, name: str, arguments: dict[str, Any]) -> Call:
    done = execute(caller=bob, full_name=name, arguments=arguments)
    run_call(UUID(done.call_id))
    return Call.objects.get(pk=done.call_id)


def test_operations_are_usable_and_called_like_any_tool(
    api: MockApi, alice: User, readers: Group, bob: Caller
) -> None:
    one = installed(api, alice, readers)
    usable = Capability.objects.usable_by(bob)

    call = called(bob, "town-library__list_books", {"page": 2})

    assert (one.state, one.message) == (State.READY, "Ready.")
    assert usable.count() == 5
    assert call.state == Call.State.COMPLETED
    result = describe_call(call).result
    assert result is not None
    assert result["content"][0]["text"].startswith("[")
    assert (api.asked[0].template, api.asked[0].query) == ("/books", [("page", "2")])
    assert api.asked[0].headers["x-key"] == "s3cret-key"
    assert AuditEntry.objects.filter(action="install.start", by=alice).count() == 1


def test_a_stranger_has_none_of_it(api: MockApi, alice: User, readers: Group) -> None:
    installed(api, alice, readers)
    group = GroupFactory.create()
    charlie = Caller(UserFactory.create(groups=[group]).pk, group.pk)

    assert not Capability.objects.usable_by(charlie).exists()


def test_arguments_are_checked_before_anything_is_sent(
    api: MockApi, alice: User, readers: Group, bob: Caller
) -> None:
    installed(api, alice, readers)

    with pytest.raises(ArgumentsRefusedError) as refused:
        execute(caller=bob, full_name="town-library__books_add", arguments={"titel": "Emma"})

    assert refused.value.defects[0][0]
    assert api.asked == []


def test_call_that_deletes_waits_for_a_person(
    api: MockApi, alice: User, readers: Group, bob: Caller
) -> None:
    installed(api, alice, readers)

    done = execute(caller=bob, full_name="town-library__remove_book", arguments={"id": "1"})

    assert Call.objects.get(pk=done.call_id).needs_approval
    assert api.asked == []


def test_secret_never_reaches_the_answer(
    api: MockApi, alice: User, readers: Group, bob: Caller
) -> None:
    installed(api, alice, readers)
    api.answers = [Answer(body=b'{"you_sent": "s3cret-key"}')]

    call = called(bob, "town-library__get_book", {"id": "1"})

    assert "s3cret-key" not in str(describe_call(call).result)


def test_installation_waits_for_the_secret_and_goes_on_with_it(
    api: MockApi, alice: User, readers: Group
) -> None:
    one = installed(api, alice, readers, secret=False)
    waited = one.state

    set_secret(integration=one.integration, name="KEY", value="s3cret-key", by=alice)
    retry_install(by=alice, installation=one)
    install(one.pk)
    one.refresh_from_db()

    assert waited == State.NEEDS_SECRET
    assert one.state == State.EMBEDDING


def test_only_chosen_operations_are_installed(api: MockApi, alice: User, readers: Group) -> None:
    installed(api, alice, readers, chosen={"tags": ["writing"], "limit": 1})

    assert list(Capability.objects.values_list("action", flat=True)) == ["books_add"]


def test_change_of_the_document_waits_with_its_difference(
    api: MockApi, alice: User, readers: Group, bob: Caller
) -> None:
    installed(api, alice, readers)
    integration = Integration.objects.get()
    # The same words, but another operation would be called by them.
    api.raw["paths"]["/admin/{id}"] = api.raw["paths"].pop("/books/{id}")

    sync = sync_definitions(integration.pk, Sync.Cause.PERSON)

    assert sync is not None
    assert sync.changed == ["remove_book"]
    # Named by its path, since it has no id of its own.
    assert (sync.new, sync.gone) == (["get_admin"], ["get_book"])
    waiting = Definition.objects.get(name="remove_book")
    assert '"path":"/books/{id}"' in waiting.approved
    assert '"path":"/admin/{id}"' in waiting.proposed
    assert not Capability.objects.usable_by(bob).filter(action="remove_book").exists()


def test_sync_of_an_unchanged_document_changes_nothing(
    api: MockApi, alice: User, readers: Group
) -> None:
    installed(api, alice, readers)

    sync = sync_definitions(Integration.objects.get().pk, Sync.Cause.PERSON)

    assert sync is not None
    assert not sync.found_something
    assert sync.reason == ""


def test_document_that_is_gone_is_a_problem_of_the_server(
    api: MockApi, alice: User, readers: Group
) -> None:
    installed(api, alice, readers)
    ApiDocument.objects.all().delete()

    sync = sync_definitions(Integration.objects.get().pk, Sync.Cause.PERSON)

    assert sync is not None
    assert sync.reason == Reason.WRONG_ANSWER


def test_mcp_clients_see_the_operations(
    api: MockApi, alice: User, readers: Group, bob: Caller
) -> None:
    installed(api, alice, readers)

    assert "town-library__list_books" in {one.full_name for one in listed_tools(bob)}


SWAGGER = "<script>SwaggerUIBundle({url: '/deep/spec/openapi.json', dom_id: '#ui'})</script>"


@contextmanager
def site(pages: dict[str, str]) -> Iterator[str]:
    """Serve some pages on this machine, and 404 for all others; POST is 405."""

    class Pages(Handler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            body = (page or "Not found").encode()
            self.reply(404 if page is None else 200, body)

        def do_POST(self) -> None:
            self.reply(405)

    with serve(Pages) as server:
        allow(server.server_port)
        yield f"http://127.0.0.1:{server.server_port}"


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
