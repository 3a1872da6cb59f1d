"""Sending a row's request as someone, and evaluating the answer."""

import re
from typing import Any
from urllib.parse import unquote, urlencode

from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.hostile.routes import DJANGO_ADMIN, NOTHING_PRIVATE, SIGN_IN, TOLD_NOTHING, Row
from tests.hostile.urlconf import path_of, places_of_admin
from tests.hostile.world import GROUPS_WORD, OWN_WORD, World, as_json, filled

Parts = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
_NOT_SAID = {"Content-Length", "Expires"}  # one depends on the request, the other on the clock
_TOKEN = re.compile(r'(name="csrfmiddlewaretoken" value=")[^"]*')
_MILLISECONDS = re.compile(r"\d+\.\d(?=[^<>]* ms)")
_NEW_EACH_TIME = re.compile(
    r'("(?:turn_id|call_id|since|until)": ?")[^"]*|("(?:timings|added_latency_ms)": ?\{)[^}]*'
    r'|("(?:median_ms|p95_ms)": ?)[^,}]*'
)


def ask(
    world: World, client: Client, row: Row, method: str, things: dict[str, Any] | None = None
) -> Any:
    """Send `method` to the row's route, about mulberry's things or about `things`."""
    return send(client, row, method, parts_of(world, row, things))


def send(client: Client, row: Row, method: str, parts: Parts) -> Any:
    """Send the request with this query, body and path."""
    query, body, fill = parts
    path = "/" + row.path if row.path else path_of(row.route, fill)
    query_string = urlencode(query, doseq=True)
    if method in {"GET", "HEAD", "OPTIONS", "DELETE"}:
        return client.generic(method, path, QUERY_STRING=query_string)
    if path.startswith(("/api/", "/mcp", "/v0.1/")):
        return client.generic(method, path, as_json(body), "application/json")
    form = urlencode(body, doseq=True)
    return client.generic(method, path, form, "application/x-www-form-urlencoded")


def parts_of(world: World, row: Row, things: dict[str, Any] | None = None) -> Parts:
    """Return query, body and path parameters, filled in."""
    known = {**world.things, **(things or {})}
    fill = filled(row.fill, known)
    if row.door is DJANGO_ADMIN and not row.fill and not row.path:
        fill = places_of_admin(row.route, world) if things is None else NO_ROW
    return filled({**row.door.query, **row.query}, known), filled(row.body, known), fill


NO_ROW = {"object_id": "987654321", "id": "987654321", "content_type_id": "4"}


def outcomes_of(response: Any, sent: set[str]) -> set[int | str]:
    """Return all descriptions of the answer in the terms of a door."""
    outcomes: set[int | str] = {response.status_code}
    if response.status_code == 302 and re.search(r"sign-in|login", response["Location"]):
        outcomes.add(SIGN_IN)
    body = said(response, sent)
    if GROUPS_WORD not in body and OWN_WORD not in body:
        outcomes.add(TOLD_NOTHING)
    if OWN_WORD not in body:
        outcomes.add(NOTHING_PRIVATE)
    return outcomes


def words_of(parts: Parts) -> set[str]:
    """Return the request's own words, which an answer may repeat."""
    words: set[str] = set()
    waiting: list[Any] = list(parts)
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict | list):
            waiting.extend(part.values() if isinstance(part, dict) else part)
        else:
            words.add(str(part))
    return words


def said(response: HttpResponse, sent: set[str]) -> str:
    """Return body and headers without the request's own words and changing values."""
    body = b"".join(response) if response.streaming else response.content
    headers = {name: text for name, text in response.items() if name not in _NOT_SAID}
    text = body.decode(errors="replace") + str(sorted(headers.items()))
    text = unquote(text)  # redirect addresses are quoted
    text = _NEW_EACH_TIME.sub(r"\1\2\3", _TOKEN.sub(r"\1", text))
    text = _MILLISECONDS.sub("0", text)
    for word in sorted(filter(None, sent), key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", "SENT", text)
    return text


def counted(
    world: World, client: Client, row: Row, method: str, things: dict[str, Any] | None = None
) -> tuple[int, str, int]:
    """Return status, text, and number of statements."""
    parts = parts_of(world, row, things)
    with CaptureQueriesContext(connection) as statements:
        response = send(client, row, method, parts)
    return response.status_code, said(response, words_of(parts)), len(statements)
