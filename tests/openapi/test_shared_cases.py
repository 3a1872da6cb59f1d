"""Cases from the world about formats, arguments, keys, OpenAPI, registries and skills."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User

from catalog.formats.loader import load_path, load_value
from catalog.formats.loose_text import decode_text
from catalog.formats.openapi.api_requests import build_request
from catalog.formats.openapi.api_security import Credentials
from catalog.formats.readers.openapi import read_api
from catalog.models import Integration
from catalog.servers.secrets.store import as_pasted
from discovery.calls.argument_check import check_arguments, read_arguments
from marketplace.additions.recognition import document_places, recognise
from marketplace.additions.requests import add
from tests.formats.folders import SHARED, needs_shared, write

CASES = {path.stem[:2]: path for path in sorted((SHARED / "cases").glob("*.json"))}
Given = Any
Check = Callable[[Given, Path, User], None]


def _servers(text: str) -> dict[str, Any]:
    return {server.slug: server for server in recognise(text).servers}


def jsonc(given: Given, folder: Path, by: User) -> None:
    assert _servers(given["text"])["house"].endpoint == "https://${ha-host}/mcp"
    [imported] = load_path(write(folder, "mcp.json", given["text"])).integrations
    assert imported.slug == "house"


def zed(given: Given, folder: Path, by: User) -> None:
    read = _servers(json.dumps(given["json"]))
    assert set(read) == {"docs", "notes"}
    assert read["notes"].required_secrets == ("NOTES_TOKEN",)


def codex(given: Given, folder: Path, by: User) -> None:
    server = _servers(given["toml"])["web"]
    [imported] = load_path(write(folder, "config.toml", given["toml"])).integrations
    assert server.source_ref["headers"] == {"Authorization": "Bearer ${WEB_TOKEN}"}
    assert imported.endpoint == server.endpoint == "https://web.example.com/mcp"


def goose_and_continue(given: Given, folder: Path, by: User) -> None:
    for text in given["yaml"]:
        assert _servers(text)["clock"].command == ("uvx", "mcp-server-time")


def left_out(given: Given, folder: Path, by: User) -> None:
    rows = add(by=by, text=json.dumps(given["json"]))
    assert [(str(row), row.state) for row in rows] == [
        *(("Clock", "ready"), ("Web", "ready"), ("empty", "failed"))
    ]
    assert "needs a command or an address" in rows[-1].message


def commands(given: Given, folder: Path, by: User) -> None:
    for text in given["pasted"]:
        assert set(_servers(text)) <= {"web", "clock"}, text


def registry_defaults(given: Given, folder: Path, by: User) -> None:
    entry = {"name": "com.example/api", "description": "An API.", "version": "1.0.0", **given}
    [server] = load_value(entry, file="server.json").integrations
    [region] = server.source_ref["variables"]
    assert (region["default"], region["choices"]) == ("eu", ["eu", "us"])
    assert server.required_secrets == ()
    assert server.source_ref["headers"] == {"X-Region": "eu"}


def neighbours(given: Given, folder: Path, by: User) -> None:
    for number, text in enumerate(given["yaml"]):
        long = f"{text}x: {'y' * 20_000}\n"
        [server] = load_path(write(folder, f"{number}.yaml", long)).integrations
        assert server.slug == "clock"
        assert server.command
        assert yaml.safe_load(text)


def settings(given: Given, folder: Path, by: User) -> None:
    text = json.dumps({"mcpServers": {"a": {"command": "uvx", "args": ["a"], **given}}})
    [server] = recognise(text).servers
    assert server.required_secrets == ("API_KEY",)
    defaults = {v["name"]: v.get("default") for v in server.source_ref["variables"]}
    assert defaults == {name: str(value) for name, value in given["env"].items()} | {
        "API_KEY": None
    }


def null(given: Given, folder: Path, by: User) -> None:
    arguments = read_arguments(given["schema"], given["arguments"])
    check_arguments(given["schema"], arguments)
    assert arguments == {"guests": 2}


def key(given: Given, folder: Path, by: User) -> None:
    security = {"main": {"as": "bearer", "secrets": ["KEY"], "about": ""}}
    integration = Integration(transport="openapi", source_ref={"security": security})
    assert as_pasted(integration, "KEY", given["secret"]) == given["secret"].strip()


def addresses(given: Given, folder: Path, by: User) -> None:
    for address in given["addresses"]:
        expected = "http://host:8000" + given["document_at"]
        assert expected in document_places(address.split(" ")[0].replace("port", "8000"))


def one_name(given: Given, folder: Path, by: User) -> None:
    addresses = [f"https://{words.split(' ')[0]}/mcp" for words in given["servers"]]
    texts = [json.dumps({"mcpServers": {"Orders": {"url": address}}}) for address in addresses]
    rows = [add(by=by, text=text)[0] for text in texts]
    assert [(str(row), row.state) for row in rows] == [
        *(("Orders", "ready"), ("Orders 2", "ready"), ("Orders 3", "ready"))
    ]


def scopes(given: Given, folder: Path, by: User) -> None:
    rows = [add(by=by, text=text)[0] for text in given["pasted"]]
    assert [str(row) for row in rows] == ["Knip", "Ark UI", "Azure DevOps", "Antv", "Auth0"]
    assert len({row.listing for row in rows}) == len(rows)


def charset(given: Given, folder: Path, by: User) -> None:
    kind, _, text = given["answer"].rpartition(", ")
    assert decode_text(text.encode("iso-8859-1"), kind) == text


def skills(given: Given, folder: Path, by: User) -> None:
    for name, text in (
        (given["folder"], given["text"]),
        ("deploy-site/skill.md", given["text"]),
        ("deploy-site/SKILL.md", "Deploys the site.\n\nSteps."),
    ):
        path = write(folder / name.replace("/", "-"), name, text)
        loaded = load_path(path.parent.parent)
        [skill] = loaded.capabilities
        assert (skill.full_name, skill.description) == ("deploy-site", "Deploys the site.")
        assert "the folder names the skill: deploy-site" in str([*map(str, loaded.defects)])


def _sent(document: dict[str, Any], arguments: dict[str, Any]) -> bytes:
    whole = {"info": {"title": "A", "version": "1"}, **document}
    [operation] = read_api(whole, file="a", address="https://a.example").operations
    sending = operation.tool["annotations"]["http"]
    return build_request("https://a.example", sending, arguments, Credentials()).content


def form_arrays(given: Given, folder: Path, by: User) -> None:
    texts = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {"To": {"type": "string"}, "MediaUrl": texts}}
    encoding = {"encoding": {"MediaUrl": {"style": "form", "explode": True}}}
    for more in ({}, encoding):
        body = {"content": {given["body"]: {"schema": schema, **more}}}
        paths = {"/m": {"post": {"requestBody": body, "responses": {}}}}
        sent = _sent({"openapi": "3.0.0", "paths": paths}, {"MediaUrl": ["a", "b"]})
        assert sent == b"MediaUrl=a&MediaUrl=b"
    old = {"name": "MediaUrl", "in": "formData", "type": "array", "collectionFormat": "multi"}
    document = {"swagger": "2.0", "paths": {"/m": {"post": {"parameters": [old], "responses": {}}}}}
    assert _sent(document, {"MediaUrl": ["a", "b"]}) == sent


def files(given: Given, folder: Path, by: User) -> None:
    schema = {"type": "object", "properties": given["multipart"]}
    body = {"content": {"multipart/form-data": {"schema": schema}}}
    paths = {"/m": {"post": {"requestBody": body, "responses": {}}}}
    sent = _sent({"openapi": "3.0.0", "paths": paths}, {"files": ["aGVsbG8=", "d29ybGQ="]})
    assert sent.count(b"filename=") == 2
    assert b"hello" in sent


CHECKS: dict[str, Check] = {
    "11": jsonc,
    "13": zed,
    "15": codex,
    "17": goose_and_continue,
    "19": left_out,
    "21": commands,
    "39": charset,
    "43": registry_defaults,
    "45": neighbours,
    "51": settings,
    "09": form_arrays,
    "23": skills,
    "37": files,
    "58": null,
    "59": key,
    "60": addresses,
    "61": one_name,
    "65": scopes,
}


@needs_shared
@pytest.mark.django_db
@pytest.mark.parametrize("number", CHECKS)
def test_case_is_as_expected(number: str, tmp_path: Path, alice: User) -> None:
    case = json.loads(CASES[number].read_text())

    CHECKS[number](case["given"], tmp_path, alice)
