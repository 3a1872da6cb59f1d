"""Recognition of pasted texts, and Postman collections."""

import json
from random import Random
from typing import Any

import pytest

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.readers.openapi import parse_api
from marketplace.additions.recognition import NotRecognisedError, WhichIndexError, recognise
from tests.examples import EXAMPLES_OF_PAGES
from tests.openapi.documents import AS_YAML, library


def server(text: str, **more: str) -> IntegrationDescriptor:
    [one] = recognise(text, **more).servers
    return one


@pytest.mark.parametrize(
    ("text", "slug", "command"),
    [
        ("uvx mcp-server-time", "mcp-server-time", "uvx mcp-server-time"),
        ("$ npx -y @acme/maps@1.2.0 --fast", "maps", "npx -y @acme/maps@1.2.0 --fast"),
        ("@acme/maps", "maps", "npx @acme/maps"),
        ("pypi:mcp-server-time", "mcp-server-time", "uvx mcp-server-time"),
        ("npm:maps", "maps", "npx maps"),
        ("mcp-server-time==1.0.0", "mcp-server-time", "uvx mcp-server-time==1.0.0"),
        ("pip install mcp-server-time", "mcp-server-time", "uvx mcp-server-time"),
        ("uv tool install --python 3.12 maps", "maps", "uvx maps"),
        ("dotnet tool install -g Acme.Maps", "acme-maps", "dnx --yes Acme.Maps"),
        ("docker pull acme/maps:2", "maps", "docker run -i --rm acme/maps:2"),
        ("deno run -A jsr:@acme/maps@1", "maps", "deno run -A jsr:@acme/maps@1"),
        ("py -3.12 -m maps", "maps", "python -m maps"),
        ("pnpm --package=maps dlx go-maps", "maps", "npx -y --package maps go-maps"),
        ("npx -p maps -c 'go-maps --fast'", "maps", "npx -p maps go-maps --fast"),
        ('uvx --python ">=3.11" maps', "maps", "uvx --python 3.11 maps"),
        ("npm i -g @acme/maps", "maps", "npx @acme/maps"),
        ("claude mcp add maps -- npx @acme/maps", "maps", "npx @acme/maps"),
        ("docker run -i -e MAPS_KEY acme/maps:2", "maps", "docker run -i -e MAPS_KEY acme/maps:2"),
    ],
)  # fmt: skip
def test_commands_and_packages(text: str, slug: str, command: str) -> None:
    one = server(text)

    assert (one.slug, one.transport) == (slug, "stdio")
    assert " ".join(one.command) == command


def test_variables_of_a_command_become_secrets_without_their_values() -> None:
    one = server("MAPS_KEY=hunter2hunter2 npx @acme/maps")
    image = server("docker run -e MAPS_KEY -e REGION=eu acme/maps")

    assert one.required_secrets == ("MAPS_KEY",)
    assert "hunter2" not in str(one)
    assert image.required_secrets == ("MAPS_KEY",)
    assert [v["default"] for v in image.source_ref["variables"] if v["name"] == "REGION"] == ["eu"]


def test_configuration_of_a_client() -> None:
    entry = {"command": "npx", "args": ["@acme/maps"], "env": {"KEY": "hunter2hunter2"}}
    several = json.dumps(
        {"mcpServers": {"maps": entry, "web": {"url": "https://maps.example/mcp"}}}
    )
    inner = json.dumps({"maps": entry})[1:-1]

    assert [one.slug for one in recognise(several).servers] == ["maps", "web"]
    assert server(json.dumps(entry)).slug == "maps"
    assert server(inner).required_secrets == ("KEY",)
    assert "hunter2" not in str(recognise(several))


def test_bare_name_is_asked_for_its_index() -> None:
    with pytest.raises(WhichIndexError):
        recognise("mcp-server-time")

    assert server("mcp-server-time", index="pypi").command == ("uvx", "mcp-server-time")
    assert server("maps", index="npm").command == ("npx", "maps")


def test_addresses_and_documents() -> None:
    assert recognise(" https://maps.example/mcp ").address == "https://maps.example/mcp"
    assert recognise(AS_YAML).document == AS_YAML.strip()
    assert recognise(json.dumps(library())).document


@pytest.mark.parametrize(
    "text",
    [
        *("rm -rf /", "hello there", "{", '{"mcpServers": {}}', "[]", "'", "uvx"[:0] or "?"),
        *("https://maps.example/ mcp", "ftp://maps.example", "x" * 3_000, "$", "A=1"),
        *('{"a": ' * 50, "-y", "\x00"),
    ],
)
def test_anything_else_is_refused_with_what_can_be_pasted(text: str) -> None:
    with pytest.raises(NotRecognisedError) as refused:
        recognise(text)

    assert str(refused.value)


def test_name_is_the_persons() -> None:
    assert server("npx @acme/maps", name="Town maps").slug == "town-maps"


SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
BASE = "https://api.example.com"


def collection(*items: Any, **fields: Any) -> str:
    info = {"name": "Shop", "schema": SCHEMA}
    variables = [{"key": "baseUrl", "value": BASE}]
    return json.dumps({"info": info, "item": list(items), "variable": variables, **fields})


def request_of(random: Random, number: int) -> dict[str, Any]:
    """Return a request in one of the many ways in which collections write one."""
    start = random.choice([BASE, "{{baseUrl}}"])
    path = f"/v1/things{number}" + random.choice(["", "/:id", "/{{thingId}}"])
    query = random.choice(["", "?limit=5", "?limit=5&q={{word}}"])
    url: Any = f"{start}{path}{query}"
    if random.random() < 0.5:
        pairs = [pair.split("=") for pair in query[1:].split("&") if pair]
        url = {"raw": url, "query": [{"key": key, "value": value} for key, value in pairs]}
    body = random.choice(
        [
            None,
            {"mode": "raw", "raw": '{"name": "x", "count": 3, "tags": ["a"]}'},
            {"mode": "raw", "raw": "plain words"},
            {"mode": "urlencoded", "urlencoded": [{"key": "name", "value": "x"}]},
            {"mode": "formdata", "formdata": [{"key": "file", "type": "file"}]},
            {"mode": "graphql", "graphql": {"query": "{ a }"}},
        ]
    )
    method = "GET" if body is None else "POST"
    header = [{"key": "X-Trace", "value": "1"}, {"key": "Authorization", "value": "Bearer secret"}]
    request = {"method": method, "url": url, "header": header, **({"body": body} if body else {})}
    return {"name": f"Thing {number}", "request": request}


@pytest.mark.parametrize("seed", range(EXAMPLES_OF_PAGES))
def test_each_request_is_a_tool_or_is_named(seed: int) -> None:
    random = Random(seed)
    items: list[Any] = [request_of(random, number) for number in range(random.randint(1, 6))]
    folder = {"name": "Folder", "item": items[1:]}
    wrong: list[Any] = random.choice(
        [[], [{"name": "no request"}], [{"name": "x", "request": {"url": ""}}]]
    )
    repeated = [items[0]] if random.random() < 0.5 else []

    api = parse_api(collection(items[0], folder, *wrong, *repeated), file="shop.json")

    assert recognise(collection(items[0])).document
    assert len(api.operations) == len(items)
    assert len(api.defects) == len(wrong) + len(repeated)
    assert (api.integration.title, api.integration.endpoint) == ("Shop", BASE)
    assert api.integration.required_secrets
    tools = json.dumps(api.tools())
    assert "secret" not in tools
    for number, item in enumerate(items):
        assert f"/v1/things{number}" in tools
        assert item["name"] in tools


@pytest.mark.parametrize(
    "item", [None, 3, [], {"request": None}, {"request": {"url": {"raw": None}}}, {"item": [1]}]
)
def test_what_is_no_request_stops_no_other(item: Any) -> None:
    api = parse_api(collection({"name": "List", "request": f"{BASE}/v1"}, item), file="shop.json")

    assert (len(api.operations), len(api.defects)) == (1, 1)


@pytest.mark.parametrize(
    ("auth", "scheme"),
    [
        ({"type": "bearer", "bearer": [{"key": "token", "value": "s3cret"}]}, "bearer"),
        ({"type": "basic"}, "basic"),
        ({"type": "apikey", "apikey": [{"key": "key", "value": "X-Shop"}]}, "apikey"),
    ],
)
def test_credentials_of_a_collection_become_secrets(auth: dict[str, Any], scheme: str) -> None:
    item = {"name": "List", "request": f"{BASE}/v1/things"}

    api = parse_api(collection(item, auth=auth), file="shop.json")

    assert list(api.integration.source_ref["security"]) == [scheme]
    assert api.integration.required_secrets
    assert "s3cret" not in str(api)


def test_requests_of_another_host_are_told() -> None:
    items = [
        {"name": name, "request": f"https://{name}.example.com/{name}"} for name in ("one", "two")
    ]

    api = parse_api(collection(*items), file="shop.json")

    assert len(api.operations) == 1
    assert [defect.reason for defect in api.defects] == ["is answered by another server"]
