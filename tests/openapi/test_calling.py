"""Calls of an API's operations: the request is the one that the document describes, and nothing
else goes out."""

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from catalog.formats.descriptors import JSONObject
from catalog.formats.openapi.api_requests import ApiRequest
from catalog.formats.readers.openapi import read_api
from catalog.servers.client.api_session import ApiSession
from catalog.servers.client.mcp_session import Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import ApiServer
from catalog.servers.net.address_check import AllowedHosts
from tests.connections.http_limits import LOOPBACK
from tests.openapi.calls import SECRETS
from tests.openapi.calls import call_operation as call
from tests.openapi.documents import library, new_library, old_library
from tests.openapi.mock import Answer, Asked, MockApi, mock_api


@pytest.fixture
def api() -> Iterator[MockApi]:
    with mock_api(library(servers=[{"url": "/"}])) as server:
        yield server


def asked(server: MockApi) -> Asked:
    [one] = server.asked
    return one


def test_arguments_go_to_their_places(api: MockApi) -> None:
    arguments = {
        "page": 2,
        "genre": ["crime", "sci fi"],
        "filter": {"year": 1984},
        "X-Branch": "north",
    }
    result = call(api, "list_books", arguments)

    one = asked(api)
    assert (one.method, one.template) == ("GET", "/books")
    assert one.query == [
        *[("page", "2"), ("genre", "crime"), ("genre", "sci fi"), ("filter[year]", "1984")]
    ]
    assert one.headers["x-branch"] == "north"
    assert one.headers["x-key"] == "s3cret-key"
    assert not result.is_error
    assert json.loads(result.content[0]["text"])[0]["title"] == "text"


def test_body_is_built_from_flat_arguments(api: MockApi) -> None:
    result = call(api, "books_add", {"title": "Emma", "shelf": "A 1", "answer_fields": ["id"]})

    assert asked(api).json == {"title": "Emma", "shelf": "A 1"}
    assert asked(api).headers["content-type"] == "application/json"
    assert result.structured == {"id": 1}


def test_operation_without_security_sends_no_secret(api: MockApi) -> None:
    result = call(api, "opening_hours_get")

    assert "s3cret-key" not in str(asked(api).headers)
    assert result.content == [{"type": "text", "text": "plain text"}]


@pytest.mark.parametrize("value", ["..", ".", ""])
def test_path_cannot_lead_to_another_operation(api: MockApi, value: str) -> None:
    with pytest.raises(ServerProblemError) as problem:
        call(api, "get_book", {"id": value})

    assert problem.value.reason is Reason.REFUSED
    assert not problem.value.sent
    assert api.asked == []


def test_slash_stays_part_of_its_argument(api: MockApi) -> None:
    call(api, "get_book", {"id": "../admin?x=1#y"})

    assert asked(api).path == "/books/..%2Fadmin%3Fx%3D1%23y"


@pytest.mark.parametrize(
    ("value", "path"), [("a/b c", "/v1/a/b%20c"), ("/a", "/v1/a"), ("a?b#c:d", "/v1/a%3Fb%23c%3Ad")]
)
def test_reserved_gap_keeps_slashes_alone(value: str, path: str) -> None:
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    operation = {"operationId": "read", "parameters": [name], "responses": {}}
    with mock_api(
        library(servers=[{"url": "/"}], paths={"/v1/{+name}": {"get": operation}})
    ) as api:
        call(api, "read", {"name": value})
        with pytest.raises(ServerProblemError):
            call(api, "read", {"name": "a/../../admin"})

        assert [request.path for request in api.asked] == [path]


def test_header_cannot_begin_another_one(api: MockApi) -> None:
    with pytest.raises(ServerProblemError) as problem:
        call(api, "list_books", {"X-Branch": "north\r\nX-Evil: 1"})

    assert problem.value.reason is Reason.REFUSED
    assert api.asked == []


def test_old_document_sends_basic_sign_in_forms_and_files() -> None:
    with mock_api(old_library()) as server:
        call(server, "search", {"words": "a b&c"})
        call(
            server,
            "upload_cover",
            {"title": "Emma", "image": base64.b64encode(b"\x00\xff").decode()},
        )

    search, upload = server.asked
    assert base64.b64decode(search.headers["authorization"].split()[1]) == b"ann:opensesame"
    assert search.body == b"words=a+b%26c"
    assert search.headers["content-type"] == "application/x-www-form-urlencoded"
    assert upload.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'name="image"; filename="image"\r\n\r\n\x00\xff\r\n' in upload.body


def test_arguments_of_one_name_reach_their_own_places() -> None:
    with mock_api(new_library()) as server:
        call(server, "replace_book", {"id": "7", "id_body": "8", "due": None})

    assert server.asked[0].path == "/books/7"
    assert server.asked[0].json == {"id": "8", "due": None}


def test_missing_secret_is_named_and_nothing_is_sent(api: MockApi) -> None:
    with pytest.raises(ServerProblemError) as problem:
        call(api, "list_books", secrets={})

    assert problem.value.reason is Reason.SIGN_IN_NEEDED
    assert problem.value.detail == "Not set: KEY"
    assert api.asked == []


@pytest.mark.parametrize(
    ("scheme", "sent"),
    [
        ({"type": "apiKey", "in": "query", "name": "api_key"}, ("query", "api_key")),
        ({"type": "apiKey", "in": "cookie", "name": "session"}, ("cookie", "session=")),
        ({"type": "http", "scheme": "bearer"}, ("authorization", "Bearer ")),
    ],
)
def test_secret_is_sent_where_the_scheme_says(scheme: JSONObject, sent: tuple[str, str]) -> None:
    document = library(servers=[{"url": "/"}])
    document["components"]["securitySchemes"]["key"] = scheme
    name = "KEY_TOKEN" if scheme["type"] == "http" else "KEY"
    with mock_api(document) as server:
        call(server, "list_books", secrets={name: "s3cret"})

    one, (place, text) = asked(server), sent
    if place == "query":
        assert (text, "s3cret") in one.query
    else:
        assert one.headers[place] == f"{text}s3cret"


def test_sign_in_that_is_not_known_is_a_problem_and_sends_nothing(api: MockApi) -> None:
    api_of = read_api(api.raw, file="api", address=api.url)
    sending = api_of.operations[0].tool["annotations"]["http"]

    async def run() -> None:
        session = ApiSession(ApiServer(api.url, {}, SECRETS), allowed=LOOPBACK)
        await session.open()
        await session.call("list_books", {}, sending=sending)

    with pytest.raises(ServerProblemError) as problem:
        asyncio.run(run())
    assert problem.value.reason is Reason.SIGN_IN_NEEDED
    assert api.asked == []


def test_error_of_the_api_is_the_tools_error(api: MockApi) -> None:
    api.answers = [Answer(422, b'{"message": "No such shelf."}')]

    result = call(api, "books_add", {"title": "Emma", "shelf": "Z"})

    assert result.is_error
    assert result.content[0]["text"] == 'HTTP 422\n{"message":"No such shelf."}'


def test_refused_operation_is_no_refused_account(api: MockApi) -> None:
    api.answers = [Answer(401)]

    with pytest.raises(ServerProblemError) as problem:
        call(api, "list_books")

    assert problem.value.reason is Reason.NOT_PERMITTED


def test_account_is_refused_where_several_operations_in_a_row_are() -> None:
    session = ApiSession(ApiServer("http://127.0.0.1:1", {}, {}), allowed=LOOPBACK)

    def judge(path: str, status: int) -> Reason | None:
        request = ApiRequest("GET", f"http://127.0.0.1:1/{path}?page={status}", {})
        try:
            session._judge(request, httpx2.Response(status))
        except ServerProblemError as problem:
            return problem.reason
        return None

    same = [judge("a", 401) for _ in range(5)]
    mixed = [judge(path, status) for path, status in [("b", 401), ("c", 200), ("d", 401)]]
    everywhere = [judge(path, 401) for path in "ef"]

    assert set(same) == {Reason.NOT_PERMITTED}
    assert mixed == [Reason.NOT_PERMITTED, None, Reason.NOT_PERMITTED]
    assert everywhere == [Reason.NOT_PERMITTED, Reason.SIGN_IN_NEEDED]


@pytest.mark.parametrize(
    ("status", "value", "seconds"),
    [(429, "30", 30.0), (429, "soon", None), (429, "", None), (503, "30", 30.0)],
)
def test_limit_of_the_api_says_when_to_try_again(
    api: MockApi, status: int, value: str, seconds: float | None
) -> None:
    api.answers = [Answer(status, headers={"Retry-After": value})]

    with pytest.raises(ServerProblemError) as problem:
        call(api, "list_books")

    reason = Reason.RATE_LIMITED if status == 429 else Reason.ASKS_TO_WAIT
    assert (problem.value.reason, problem.value.retry_after) == (reason, seconds)


def test_outage_of_the_api_without_an_end_is_its_answer(api: MockApi) -> None:
    api.answers = [Answer(503, headers={"Retry-After": "soon"})]

    assert call(api, "list_books").is_error


def test_redirect_of_a_write_is_not_followed(api: MockApi) -> None:
    api.answers = [Answer(302, headers={"Location": f"{api.url}/books/1"})]

    result = call(api, "books_add", {"title": "Emma", "shelf": "A 1"})

    assert result.is_error
    assert f"{api.url}/books/1" in result.content[0]["text"]
    assert len(api.asked) == 1


def test_private_address_is_refused_before_anything_is_sent(api: MockApi) -> None:
    with pytest.raises(ServerProblemError) as problem:
        call(api, "list_books", allowed=AllowedHosts.of([]))

    assert problem.value.reason is Reason.NOT_ALLOWED
    assert api.asked == []


def test_answer_beyond_the_limit_is_refused(api: MockApi) -> None:
    api.answers = [Answer(body=b"[" + b" " * (5 * 1024 * 1024) + b"]")]

    with pytest.raises(ServerProblemError) as problem:
        call(api, "list_books")

    assert problem.value.reason is Reason.TOO_LARGE
    assert problem.value.sent


def test_lost_connection_after_sending_has_an_unknown_outcome() -> None:
    with mock_api(library(servers=[{"url": "/"}])) as server:
        pass

    with pytest.raises(ServerProblemError) as problem:
        call(server, "books_add", {"title": "Emma", "shelf": "A"})

    assert problem.value.reason is Reason.NOT_REACHABLE
    assert problem.value.sent


def test_pages_are_followed_within_the_same_operation(api: MockApi) -> None:
    following = f'<{api.url}/books?page=2>; rel="next"'
    api.answers = [
        Answer(body=b'[{"id": 1, "title": "A"}]', headers={"Link": following}),
        Answer(body=b'[{"id": 2, "title": "B"}]', headers={"Link": '</admin?page=3>; rel="next"'}),
    ]

    result = call(api, "list_books", {"answer_pages": 5, "answer_fields": ["title"]})

    assert json.loads(result.content[0]["text"]) == [{"title": "A"}, {"title": "B"}]
    assert [one.path for one in api.asked] == ["/books", "/books"]
    assert all(one.headers["x-key"] == "s3cret-key" for one in api.asked)


@pytest.mark.parametrize(
    ("value", "fields", "left"),
    [
        ({"id": 1, "owner": {"name": "x", "id": 2}}, ["owner.name"], {"owner": {"name": "x"}}),
        ({"items": [{"id": 1, "x": 2}], "total": 1}, ["id"], {"items": [{"id": 1}]}),
        ([{"id": 1, "x": 2}, 3], ["id"], [{"id": 1}, 3]),
        ({"id": 1}, ["none"], {}),
    ],
)
def test_only_wanted_fields_are_answered(
    api: MockApi, value: Any, fields: list[str], left: Any
) -> None:
    api.answers = [Answer(body=json.dumps(value).encode())]

    result = call(api, "list_books", {"answer_fields": fields})

    assert json.loads(result.content[0]["text"]) == left


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        *(
            (
                Answer(kind=f"{media}/x", body=b"\x89PNG"),
                {"type": media, "data": "iVBORw==", "mimeType": f"{media}/x"},
            )
            for media in ("image", "audio")
        ),
        (Answer(body=b"not json"), {"type": "text", "text": "not json"}),
        (Answer(status=204, body=b""), {"type": "text", "text": "HTTP 204, without a body."}),
    ],
)
def test_other_answers_are_told_as_what_they_are(
    api: MockApi, answer: Answer, content: JSONObject
) -> None:
    api.answers = [answer]

    assert call(api, "list_books").content == [content]


def test_nothing_secret_is_in_a_repr(api: MockApi) -> None:
    target = ApiServer(api.url, {"key": {"as": "header", "name": "X", "secrets": ["KEY"]}}, SECRETS)

    assert "s3cret" not in repr(target)


def test_document_at_an_address_is_fetched_without_secrets(api: MockApi) -> None:
    target = ApiServer(
        api.url, {}, SECRETS, document_url=f"{api.url}/openapi.json", chosen={"tags": ["books"]}
    )

    async def run() -> Tools:
        session = ApiSession(target, allowed=LOOPBACK)
        await session.open()
        return await session.tools()

    assert [tool["name"] for tool in asyncio.run(run()).tools] == ["list_books", "books_add"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_within_the_origin_is_followed_once_for_get(api: MockApi, status: int) -> None:
    api.answers = [Answer(status, b"", {"Location": "/v1/books?page=1"}), Answer(body=b"[7]")]

    result = call(api, "list_books")

    assert (result.content[0]["text"], result.is_error) == ("[7]", False)
    assert [one.path for one in api.asked][1:] == ["/v1/books"]


@pytest.mark.parametrize(
    "target", ["https://elsewhere.example/books?key=canary", "http://127.0.0.1:1/x", "//b.example/"]
)
def test_redirect_elsewhere_says_where_to_and_is_not_followed(api: MockApi, target: str) -> None:
    api.answers = [Answer(302, b"", {"Location": target})]

    result = call(api, "list_books")

    assert result.is_error
    assert target.partition("//")[2].partition("?")[0] in result.content[0]["text"]
    assert "canary" not in result.content[0]["text"]
    assert len(api.asked) == 1


def test_redirects_without_end_are_told(api: MockApi) -> None:
    api.answers = [Answer(302, b"", {"Location": "/again"}) for _ in range(5)]

    result = call(api, "list_books")

    assert (result.is_error, len(api.asked)) == (True, 2)


@pytest.mark.parametrize("kind", ["application/pdf", "application/zip", "video/mp4", "font/woff"])
@pytest.mark.parametrize("body", [b"\xff\xfe", b"%PDF-1.7\x80" * 100])
def test_file_of_an_answer_is_passed_on(api: MockApi, kind: str, body: bytes) -> None:
    api.answers = [Answer(kind=kind, body=body)]

    words, file = call(api, "list_books").content

    assert words["text"] == f"HTTP 200: {len(body):,} bytes of {kind}."
    assert base64.b64decode(file["resource"]["blob"]) == body
    assert file["resource"]["mimeType"] == kind


@pytest.mark.parametrize("status", [201, 202])
@pytest.mark.parametrize("body", [b"", b'{"id": 7}'])
def test_address_of_what_was_made_is_told(api: MockApi, status: int, body: bytes) -> None:
    api.answers = [Answer(status=status, body=body, headers={"Location": "/books/7"})]

    *_, last = call(api, "books_add", {"title": "Emma", "shelf": "A"}).content

    assert last["text"] == "Location: /books/7"
