"""No value in a query, form, path, cookie or header causes a 500, on any route.

The names that a route reads are recorded during an ordinary request, so new parameters are covered
automatically.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import quote, quote_from_bytes

import pytest
from django.http import QueryDict
from django.test import Client
from rest_framework.serializers import Serializer

from tests.examples import some_of
from tests.hostile.asking import parts_of, send
from tests.hostile.places import ONLY_SHOWN, Place, is_of_table, places_where
from tests.hostile.routes import DJANGO_ADMIN, NOWHERE, OPEN, Row
from tests.hostile.tables import taken_back
from tests.hostile.urlconf import path_of
from tests.hostile.world import World, as_json

pytestmark = pytest.mark.usefixtures("logs_are_short")
# As bytes of a query: some are not valid text.
VALUES = (b"a\x00b", b"\xed\xa0\x80", b"9" * 20, b"x" * 9_000, "\u0661\u0662".encode(), b"-1")
HEADER_VALUES = ("a\x00b", '"a\\000b"', "\xed\xa0\x80", "\xff", "x" * 9_000, "")
JSON_VALUES: tuple[Any, ...] = (10**20, -1, "\u0661\u0662", "x" * 9_000, [], None)
ROUNDS = 2  # of the six: each value goes to a third of the rows
_OF_ADMIN = (b"9" * 20, b"x")  # Django's own pages: all else is our middleware's


@contextmanager
def names_read() -> Iterator[set[str]]:
    """Record each name that a view reads from a query, a form or a body."""
    names: set[str] = set()

    def noting(method: str) -> Any:
        real = getattr(QueryDict, method)

        def note(self: QueryDict, key: str, *more: Any, **options: Any) -> Any:
            names.add(str(key))
            return real(self, key, *more, **options)

        return mock.patch.object(QueryDict, method, note)

    real = Serializer.to_internal_value

    def note_fields(self: Any, data: Any) -> Any:
        names.update(self.fields)
        return real(self, data)

    with (
        noting("__getitem__"),
        noting("get"),
        noting("getlist"),
        noting("__contains__"),
        mock.patch.object(Serializer, "to_internal_value", note_fields),
    ):
        yield names


def of(world: World, row: Row) -> Client:
    client = world.client(row.door.insider)
    client.raise_request_exception = False
    return client


# To add a row of Django's admin takes the form that changing one takes.
@places_where(
    lambda row: row.door is not NOWHERE and not is_of_table(row, "add/", *ONLY_SHOWN),
    tables="odd values",
)
def test_no_value_of_a_parameter_is_a_500(world: World, place: Place) -> None:
    wrong = []
    for row in place.rows:
        client, parts = of(world, row), parts_of(world, row)
        for method in row.methods.split():
            with taken_back(), names_read() as names:
                status = send(client, row, method, parts).status_code
            # Otherwise the refusals in test_every_route.py could be due to a wrong address or body.
            if row.door not in (OPEN, DJANGO_ADMIN) and not (status < 400 or status == row.answers):
                wrong.append(f"{row.route}: {method} does not reach what it is about: {status}")
            sent = parts[0] if method == "GET" else {**parts[0], **parts[1]}
            kept = {*sent, *names} - {"csrfmiddlewaretoken"}
            if kept:  # a page that reads nothing would be the same page each time
                wrong += list(failing(client, row, method, parts, sorted(kept)))

    assert wrong == []


def failing(client: Client, row: Row, method: str, parts: Any, names: list[str]) -> Iterator[str]:
    """Return what causes a 500: each name with each value, beside other odd ones."""
    in_json = row.door.is_api and method in {"POST", "PUT", "PATCH"}
    values: tuple[Any, ...] = JSON_VALUES if in_json else VALUES
    values = _OF_ADMIN if row.door is DJANGO_ADMIN else values
    path = "/" + row.path if row.path else path_of(row.route, parts[2])
    # Most names are read by many pages, in the same way, and those of Django's tables by all.
    number = 1 if row.door is DJANGO_ADMIN else ROUNDS
    for turn in some_of(range(len(values)), row.route, number):
        odd = {name: values[(turn + at) % len(values)] for at, name in enumerate(names)}
        with taken_back():
            if in_json:
                answer = send(client, row, method, (parts[0], {**parts[1], **odd}, parts[2]))
            elif method == "POST":
                answer = client.generic(method, path, encoded(parts[1], odd), _FORM)
            else:
                answer = client.generic(method, path, QUERY_STRING=encoded(parts[0], odd))
        if answer.status_code >= 500:
            yield f"{method} {row.route} {str(odd)[:200]}"


def encoded(usual: dict[str, Any], odd: dict[str, bytes]) -> str:
    """Encode a form or query with odd values in place of the usual ones."""
    fields = {**{name: str(value).encode() for name, value in usual.items()}, **odd}
    return "&".join(f"{quote(name)}={quote_from_bytes(value)}" for name, value in fields.items())


_FORM = "application/x-www-form-urlencoded"


@places_where(lambda row: bool(row.fill) and row.door is not DJANGO_ADMIN)
def test_no_place_of_an_address_is_a_500(world: World, place: Place) -> None:
    wrong = []
    for row in place.rows:
        if row.path:
            continue
        client, (_, body, fill) = of(world, row), parts_of(world, row)
        method = row.methods.split()[0]
        for name in fill:
            for value in some_of(VALUES, row.route + name, ROUNDS):
                path = path_of(row.route, {**fill, name: "\ue000"})
                path = quote(path).replace(quote("\ue000"), quote_from_bytes(value))
                sent = as_json(body) if method != "GET" else ""
                with taken_back():
                    answer = client.generic(method, path, sent, "application/json")
                if answer.status_code >= 500:
                    wrong.append(f"{method} {row.route} {name}={value[:20]!r}")

    assert wrong == []


@pytest.mark.parametrize("path", ["/tools/", "/api/v1/names", "/sign-in/", "/mcp", "/healthz"])
def test_no_cookie_and_no_header_is_a_500(world: World, path: str) -> None:
    wrong = []
    for value in some_of(HEADER_VALUES, path, 3):
        for cookie in ("sessionid", "csrftoken", "messages", "other"):
            client = Client(raise_request_exception=False)
            answer = client.get(path, HTTP_COOKIE=f"{cookie}={value}")
            wrong += [(path, cookie, value[:9])] * (answer.status_code >= 500)
        for header in ("Authorization", "X-Request-ID", "Accept", "Accept-Language", "Referer",
                       "X-Forwarded-For", "User-Agent", "Origin", "Idempotency-Key", "HX-Request",
                       "HX-Current-URL", "If-Modified-Since", "Mcp-Protocol-Version"):  # fmt: skip
            client = world.client("alice")
            client.raise_request_exception = False
            answer = client.get(path, headers={header: value})
            wrong += [(path, header, value[:9])] * (answer.status_code >= 500)
            answer = Client(raise_request_exception=False).get(
                path, headers={header: f"Bearer {value}"}
            )
            wrong += [(path, header, "Bearer")] * (answer.status_code >= 500)

    assert wrong == []


def test_what_is_refused_says_why_to_programs_and_people(world: World) -> None:
    key, person = world.client("own key"), world.client("root")

    program = key.get("/api/v1/names", QUERY_STRING="user=%00")
    page = person.get("/playground/people/", QUERY_STRING="q=%00")
    form = person.post("/sign-in/", "login=a%00", content_type=_FORM)

    assert program.status_code == page.status_code == form.status_code == 400
    assert program["Content-Type"] == "application/problem+json"
    assert "NUL" in program.json()["detail"]


def test_cookie_with_a_nul_counts_as_none(world: World) -> None:
    client = Client()

    answer = client.get("/tools/", HTTP_COOKIE='sessionid="a\\000b"')

    assert answer.status_code == 302


def test_file_names_are_looked_at_too(world: World) -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="login"; filename="a%00b.txt"\r\n'
        b"Content-Type: text/plain\r\n\r\nx\r\n--x--\r\n"
    ).replace(b"%00", b"\x00")

    client = Client(raise_request_exception=False)

    answer = client.post("/sign-in/", body, content_type="multipart/form-data; boundary=x")

    assert answer.status_code < 500
