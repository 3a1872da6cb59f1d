"""Requests and questions: credentials, lists, files, paths and names, from many documents."""

import json
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats.descriptors import JSONObject
from catalog.formats.openapi.api_names import LONGEST_ACTION, unique_name
from catalog.formats.openapi.api_requests import ApiRequest, build_request
from catalog.formats.openapi.api_security import credentials_for
from catalog.formats.readers.openapi import ReadApi, read_api
from catalog.models import Integration, Secret
from catalog.readiness.obstacles import still_needed
from tests.examples import EXAMPLES_OF_TEXTS
from tests.factories import IntegrationFactory

BASE = "https://a.example"
FORM = "application/x-www-form-urlencoded"
ITEMS = st.lists(st.from_regex(r"[a-zA-Z0-9 ,&=é]{1,6}", fullmatch=True), min_size=1, max_size=3)


def api(paths: JSONObject, version: str = "3.1.0", **more: Any) -> ReadApi:
    swagger = {"swagger": "2.0", "host": "a.example", "schemes": ["https"]}
    head: JSONObject = {"openapi": version, "servers": [{"url": BASE}]}
    info = {"info": {"title": "A", "version": "1"}}
    return read_api(
        {**(swagger if version == "2.0" else head), **info, "paths": paths, **more}, file="a"
    )


def operation(*parameters: JSONObject, **more: Any) -> JSONObject:
    return {"parameters": list(parameters), "responses": {}, **more}


def form(
    properties: JSONObject, kind: str = "application/x-www-form-urlencoded", **more: Any
) -> Any:
    schema = {"type": "object", "properties": properties}
    return {"requestBody": {"content": {kind: {"schema": schema, **more}}}}


def built(read: ReadApi, arguments: JSONObject, name: str = "", **secrets: str) -> ApiRequest:
    tools = {tool.name: tool.tool for tool in read.operations}
    sending = tools[name or next(iter(tools))]["annotations"]["http"]
    security = read.integration.source_ref["security"]
    credentials = credentials_for(sending.get("security") or [], security, secrets)
    return build_request(BASE, sending, arguments, credentials)


TEXTS = {"type": "array", "items": {"type": "string"}}
LISTS = {
    "": None, "multi": None, "csv": ",", "ssv": " ", "tsv": "\t", "pipes": "|",
}  # fmt: skip


@pytest.mark.parametrize("where", ["query", "formData"])
@pytest.mark.parametrize("collection", ["", "csv", "multi", "ssv", "tsv", "pipes"])
@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(values=ITEMS)
def test_lists_are_written_as_version_2_says(
    where: str, collection: str, values: list[str]
) -> None:
    more = {"collectionFormat": collection} if collection else {}
    parameter = {"name": "To", "in": where, "type": "array", "items": {"type": "string"}, **more}
    read = api({"/x": {"post": operation(parameter)}}, version="2.0")
    request = built(read, {"To": values})
    text = request.content.decode() if where == "formData" else request.url.partition("?")[2]
    separator = {"": ",", **LISTS, "multi": None}[collection] if collection else ","

    expected = (
        [("To", v) for v in values] if separator is None else [("To", separator.join(values))]
    )
    assert parse_qsl(text, keep_blank_values=True) == expected


@pytest.mark.parametrize(
    ("way", "separator"),
    [
        (None, None),
        ({"style": "form", "explode": True}, None),
        ({"style": "form"}, None),
        ({"style": "form", "explode": False}, ","),
        ({"style": "spaceDelimited", "explode": False}, " "),
        ({"style": "pipeDelimited"}, "|"),
    ],
)
@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(values=ITEMS)
def test_lists_of_a_form_are_written_as_its_encoding_says(
    way: JSONObject | None, separator: str | None, values: list[str]
) -> None:
    encoding = {"encoding": {"MediaUrl": way}} if way else {}
    body = form({"To": {"type": "string"}, "MediaUrl": TEXTS}, FORM, **encoding)
    request = built(api({"/x": {"post": operation(**body)}}), {"To": "a", "MediaUrl": values})

    listed = values if separator is None else [separator.join(values)]
    expected = [("To", "a"), *(("MediaUrl", value) for value in listed)]
    assert parse_qsl(request.content.decode(), keep_blank_values=True) == expected


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (None, [("at", '{"x":1,"y":[2]}')]),
        ({"style": "deepObject"}, [("at[x]", "1"), ("at[y][]", "2")]),
        ({"contentType": "application/json"}, [("at", '{"x":1,"y":[2]}')]),
    ],
)
def test_brackets_are_for_deep_objects_only(
    way: JSONObject | None, expected: list[tuple[str, str]]
) -> None:
    body = form({"at": {"type": "object"}}, FORM, **({"encoding": {"at": way}} if way else {}))
    request = built(api({"/x": {"post": operation(**body)}}), {"at": {"x": 1, "y": [2]}})

    assert parse_qsl(request.content.decode()) == expected


@pytest.mark.parametrize(
    "item",
    [{"type": "string", "format": "binary"}, {"type": "string", "contentMediaType": "image/png"}],
)
def test_list_of_files_is_so_many_files(item: JSONObject) -> None:
    body = form({"files": {"type": "array", "items": item}, "one": item}, "multipart/form-data")
    read = api({"/x": {"post": operation(**body)}})
    request = built(read, {"files": ["aGVsbG8=", "d29ybGQ="], "one": "IQ=="})
    properties = read.operations[0].tool["inputSchema"]["properties"]

    assert request.content.count(b"filename=") == 3
    assert b"hello" in request.content
    assert b"world" in request.content
    assert "in base64" in properties["files"]["description"]
    assert "In base64" in properties["one"]["description"]


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("simple", False, ["a", "b"], "a,b"),
        ("label", False, "a b", ".a b"),
        ("label", False, ["a", "b"], ".a,b"),
        ("label", True, ["a", "b"], ".a.b"),
        ("label", True, {"x": 1}, ".x=1"),
        ("matrix", False, "a", ";id=a"),
        ("matrix", False, ["a", "b"], ";id=a,b"),
        ("matrix", True, ["a", "b"], ";id=a;id=b"),
        ("matrix", True, {"x": 1, "y": 2}, ";x=1;y=2"),
        ("matrix", False, {"x": 1}, ";id=x,1"),
        ("simple", True, {"x": 1}, "x=1"),
    ],
)
def test_paths_have_labels_and_matrices(
    style: str, explode: bool, value: Any, expected: str
) -> None:
    parameter = {"name": "id", "in": "path", "required": True, "schema": {}}
    read = api({"/x/{id}": {"get": operation({**parameter, "style": style, "explode": explode})}})

    assert unquote(built(read, {"id": value}).url) == f"{BASE}/x/{expected}"


SECRET_PARAMETERS = [
    ("header", "Api-Key"), ("header", "Api-Username"), ("header", "X-Registry-Auth"),
    ("header", "X-Auth-Token"), ("query", "api_key"), ("query", "access_token"),
    ("query", "apikey"), ("query", "token"), ("query", "key"), ("formData", "token"),
    ("query", "client_secret"), ("header", "Ocp-Apim-Subscription-Key"),
]  # fmt: skip
PLAIN_PARAMETERS = [
    ("query", "page_token"), ("query", "next_token"), ("query", "sort_key"), ("query", "q"),
    ("header", "Idempotency-Key"), ("header", "X-Request-Id"), ("query", "keyword"),
    ("query", "tokens"), ("header", "X-Tenant"), ("query", "user"),
]  # fmt: skip


@settings(max_examples=EXAMPLES_OF_TEXTS * 2)
@given(
    secret=st.sampled_from(SECRET_PARAMETERS),
    plain=st.sampled_from(PLAIN_PARAMETERS),
    required=st.booleans(),
    scheme=st.booleans(),
    number=st.integers(3, 6),
)
def test_credential_is_a_secret_and_never_an_argument(
    secret: tuple[str, str], plain: tuple[str, str], required: bool, scheme: bool, number: int
) -> None:
    (where, name), (other_place, other) = secret, plain
    parameters = (
        {"name": name, "in": where, "type": "string", "required": required},
        {"name": other, "in": other_place, "type": "string", "required": True},
    )
    more: JSONObject = {}
    if scheme:
        more = {"securityDefinitions": {"o": {"type": "basic"}}, "security": [{"o": []}]}
    paths = {f"/things{at}": {"post": operation(*parameters)} for at in range(number)}
    read = api(paths, version="2.0", **more)
    schemes = read.integration.source_ref["security"]
    secrets = {secret: "s3cret" for one in schemes.values() for secret in one["secrets"]}

    for tool in read.operations:
        arguments = tool.tool["inputSchema"]["properties"]
        assert name not in arguments
        assert tool.tool["inputSchema"]["required"] == [other]
    request = built(read, {other: "v"}, **secrets)
    sent = f"{request.url} {dict(request.headers)} {request.content.decode()}"
    is_replaced = scheme and where in ("query", "formData")
    assert ("s3cret" in sent) or is_replaced
    if not scheme:
        assert read.integration.required_secrets == (() if not required else tuple(secrets)[-1:])


def test_name_that_few_operations_have_stays_an_argument() -> None:
    reset = operation({"name": "token", "in": "query", "required": True, "schema": {}})
    paths = {"/reset": {"post": reset}, **{f"/x{at}": {"get": operation()} for at in range(5)}}

    assert "token" in api(paths).operations[0].tool["inputSchema"]["properties"]


KINDS = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
}
RANKS = {"bearer": 0, "header": 0, "cookie": 1, "query": 2}


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    order=st.permutations(list(RANKS)),
    stored=st.sets(st.sampled_from(list(RANKS)), min_size=1),
    data=st.data(),
)
def test_complete_sign_in_is_enough_and_the_safest_is_sent(
    order: list[str], stored: set[str], data: st.DataObject
) -> None:
    offered = order[: data.draw(st.integers(2, 4))]
    components = {"securitySchemes": {name: KINDS[name] for name in offered}}
    security: list[JSONObject] = [{name: []} for name in [*offered, "nowhere"]]
    read = api({"/x": {"get": operation()}}, components=components, security=security)
    source_ref = read.integration.source_ref
    secrets = {name: source_ref["security"][name]["secrets"][0] for name in offered}
    values = {secrets[name]: f"v-{name}" for name in stored if name in secrets}

    missing = still_needed(read.integration.required_secrets, source_ref, values)

    assert (missing == []) == bool(values)
    assert "which is not declared" in str(read.defects[0])
    if values:
        best = min((name for name in offered if name in stored), key=lambda name: RANKS[name])
        request = built(read, {}, **values)
        sent = f"{request.url} {dict(request.headers)}"
        assert [name for name in offered if f"v-{name}" in sent] == [best]


@pytest.mark.django_db
def test_readiness_takes_any_complete_sign_in() -> None:
    row: Integration = IntegrationFactory.create(
        transport="openapi",
        kind="openapi",
        endpoint=BASE,
        required_secrets=["A"],
        source_ref={"sign_ins": [["A"], ["B", "C"]]},
    )
    states = []
    for name in ("", "B", "C"):
        if name:
            Secret.objects.create(integration=row, name=name, sealed=b"sealed")
        states.append(obstacle_of(row))

    assert states == [states[0], states[0], 0]
    assert states[0] != 0


def obstacle_of(row: Integration) -> int:
    from django.db import connection

    from catalog.readiness.obstacles import obstacle_sql

    with connection.cursor() as cursor:
        sql = obstacle_sql(integration="i", user="NULL::bigint")
        statement = f"SELECT {sql} FROM catalog_integration i WHERE i.id = %s"  # noqa: S608
        cursor.execute(statement, [row.pk])
        return int(cursor.fetchone()[0])


@settings(max_examples=EXAMPLES_OF_TEXTS * 2)
@given(
    stem=st.integers(40, 80),
    number=st.integers(2, 30),
    more=st.sampled_from(["", "get", "delete"]),
    longest=st.integers(12, 64),
)
def test_no_name_is_lost_however_long(stem: int, number: int, more: str, longest: int) -> None:
    names: list[str] = []
    for _ in range(number):
        names.append(unique_name("read_secret_of_a_mount_" + "x" * stem, names, longest, more))

    assert len(set(names)) == number
    assert max(map(len, names)) <= max(longest, len(names[0]))


def test_operations_whose_names_are_cut_alike_all_become_tools() -> None:
    stem = "pki_issuer_issuer_ref_unified_crl_delta_of_the_mount_path_"
    paths = {
        f"/v1/{at}/things": {
            "get": operation(operationId=f"{stem}{at}"),
            "post": operation(operationId=f"{stem}{at}"),
        }
        for at in range(40)
    }
    names = [tool.name for tool in api(paths).operations]

    assert len(set(names)) == 80
    assert max(map(len, names)) <= LONGEST_ACTION


@pytest.mark.parametrize(
    ("path", "operation_id", "summary", "name"),
    [
        ("/users/{id}", "operation12", "", "get_user"),
        ("/users", "getUsingGET_1", "", "list_users"),
        ("/users", "5f3e9a0c1d2b", "", "list_users"),
        ("/users", "get_1", "", "list_users"),
        ("/", "default", "Tell the time of day", "tell_the_time_of_day"),
        ("/{a}/{b}", "", "Find a thing", "find_a_thing"),
        ("/users", "listAllUsers", "", "list_all_users"),
        ("/users", "decade", "", "decade"),
    ],
)
def test_poor_ids_give_way_to_path_and_summary(
    path: str, operation_id: str, summary: str, name: str
) -> None:
    gaps = [part.partition("}")[0] for part in path.split("{")[1:]]
    parameters = [{"name": gap, "in": "path", "required": True, "schema": {}} for gap in gaps]
    more = {"operationId": operation_id} if operation_id else {}
    read = api({path: {"get": operation(*parameters, summary=summary, **more)}})

    assert read.operations[0].name == name


def test_version_3_2_has_more_methods_and_a_whole_query_string() -> None:
    query = {
        "in": "querystring", "name": "q",
        "content": {"application/x-www-form-urlencoded": {"schema": {
            "properties": {"words": {"type": "string"}, "page": {"type": "integer"}}}}},
    }  # fmt: skip
    body = form({"words": {"type": "string"}}, "application/json")
    paths = {
        "/things": {
            "get": operation(query),
            "query": operation(operationId="searchThings", **body),
            "additionalOperations": {"COPY": operation(operationId="copyThings")},
        }
    }
    read = api(paths, version="3.2.0")

    assert [(tool.method, tool.name) for tool in read.operations] == [
        *(("GET", "list_things"), ("QUERY", "search_things"), ("COPY", "copy_things"))
    ]
    request = built(read, {"q": {"words": "a b", "page": 2}})
    assert parse_qsl(request.url.partition("?")[2]) == [("words", "a b"), ("page", "2")]
    assert read.integration.source_ref["dialect"] == "3.2"


def test_body_in_xml_has_the_names_of_the_document() -> None:
    schema = {
        "type": "object", "xml": {"name": "pet"},
        "properties": {
            "id": {"type": "integer", "xml": {"attribute": True}},
            "name": {"type": "string"},
            "photos": {"type": "array", "xml": {"wrapped": True},
                       "items": {"type": "string", "xml": {"name": "photo"}}},
            "tags": {"type": "array", "items": {"type": "string", "xml": {"name": "tag"}}},
        },
    }  # fmt: skip
    body = {"requestBody": {"content": {"application/xml": {"schema": schema}}}}
    read = api({"/pets": {"post": operation(**body)}})
    request = built(read, {"id": 7, "name": "A & B", "photos": ["a", "b"], "tags": ["c"]})

    assert request.content.decode().partition("?>")[2] == (
        '<pet id="7"><name>A &amp; B</name><photos><photo>a</photo><photo>b</photo></photos>'
        "<tag>c</tag></pet>"
    )


def test_argument_that_bears_a_name_of_ours_keeps_its_own() -> None:
    answer = {"200": {"description": "", "content": {"application/json": {"schema": {}}}}}
    parameter = {"name": "answer_fields", "in": "query", "schema": {"type": "string"}}
    read = api({"/x": {"get": {"parameters": [parameter], "responses": answer}}})
    properties = read.operations[0].tool["inputSchema"]["properties"]

    assert set(properties) == {"answer_fields", "answer_fields_query"}
    assert built(read, {"answer_fields_query": "a"}).url == f"{BASE}/x?answer_fields=a"


GAPS = ["{id}", "{id:[0-9]+}", "{+id}", "{id*}", "{id:path}"]


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("beside", ["/a/{}", "/a/{}/b", "/a/{}:cancel", "/a('{}')", "/a/{}.json"])
def test_gap_of_a_path_is_an_argument_declared_or_not(
    gap: str, declared: bool, beside: str
) -> None:
    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    path = beside.replace("{}", gap)
    read = api({path: {"get": operation(*([parameter] if declared else []))}})

    assert read.operations[0].tool["inputSchema"]["required"] == ["id"]
    assert built(read, {"id": "7"}).url == BASE + beside.replace("{}", "7")
    assert bool(read.defects) is not declared


def test_query_in_a_path_goes_on_with_the_arguments() -> None:
    word = {"name": "q", "in": "query", "schema": {"type": "string"}}
    read = api({"/search?type=book": {"get": operation(word)}})

    assert built(read, {}).url == f"{BASE}/search?type=book"
    assert built(read, {"q": "a b"}).url == f"{BASE}/search?type=book&q=a+b"


@pytest.mark.parametrize("value", [{"a": 1}, {"a": [1, {"b": "c"}]}])
@pytest.mark.parametrize("kind", ["", "application/json", "application/merge-patch+json"])
def test_part_of_a_form_has_its_type(value: JSONObject, kind: str) -> None:
    fields = {"about": {"type": "object"}, "file": {"type": "string", "format": "binary"}}
    encoding = {"file": {"contentType": "image/png, image/gif"}}
    encoding |= {"about": {"contentType": kind}} if kind else {}
    read = api(
        {"/x": {"post": operation(**form(fields, "multipart/form-data", encoding=encoding))}}
    )

    parts = built(read, {"about": value, "file": "aGk="}).content.split(b"--")

    [about] = [part for part in parts if b'name="about"' in part]
    [file] = [part for part in parts if b'name="file"' in part]
    assert f"Content-Type: {kind or 'application/json'}\r\n".encode() in about
    assert b"Content-Type: image/png\r\n" in file
    assert json.loads(about.partition(b"\r\n\r\n")[2]) == value


VARIANTS: dict[str, JSONObject] = {
    "oneOf": {"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"properties": {"bark": {}}}]},
    "anyOf": {"anyOf": [{"properties": {"purr": {}}}, {"properties": {"bark": {}}}]},
    "discriminator": {
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "Cat", "dog": "Dog"}}
    },
}


@pytest.mark.parametrize("variants", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("sent", ["purr", "bark"])
def test_fields_of_variants_can_be_sent(variants: JSONObject, sent: str) -> None:
    base = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
    schemas = {
        name: {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {field: {}}}]}
        for name, field in (("Cat", "purr"), ("Dog", "bark"))
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}
    read = api(
        {"/x": {"post": operation(requestBody={"required": True, "content": content})}},
        components={"schemas": {"Pet": base | variants, **schemas}},
    )

    schema = read.operations[0].tool["inputSchema"]
    assert set(schema["properties"]) == {"kind", "purr", "bark"}
    assert schema["required"] == ["kind"]
    assert json.loads(built(read, {"kind": "x", sent: 1}).content) == {"kind": "x", sent: 1}


@pytest.mark.parametrize("beside", [{"required": ["a"]}, {"properties": {"b": {}}}])
def test_what_stands_beside_a_reference_counts(beside: JSONObject) -> None:
    schema = {"$ref": "#/components/schemas/A", **beside}
    content = {"application/json": {"schema": schema}}
    read = api(
        {"/x": {"post": operation(requestBody={"required": True, "content": content})}},
        components={"schemas": {"A": {"type": "object", "properties": {"a": {}}}}},
    )

    schema = read.operations[0].tool["inputSchema"]
    assert set(schema["properties"]) == {"a", *beside.get("properties", {})}
    assert schema.get("required", []) == beside.get("required", [])


def test_body_that_is_open_takes_more_than_the_document_names() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": True}
    page = {"name": "page", "in": "query", "schema": {"type": "integer"}}
    body = {"content": {"application/json": {"schema": schema}}}
    read = api({"/x": {"post": operation(page, requestBody=body)}})

    request = built(read, {"a": 1, "page": 2, "b": {"c": 3}})

    assert request.url == f"{BASE}/x?page=2"
    assert json.loads(request.content) == {"a": 1, "b": {"c": 3}}


@pytest.mark.parametrize(
    "kind", ["application/graphql", "application/x-ndjson", "application/jsonl", "application/sql"]
)
def test_body_in_a_language_of_its_own_is_sent_as_it_is(kind: str) -> None:
    content = {kind: {"schema": {"type": "string"}}}
    read = api({"/x": {"post": operation(requestBody={"content": content})}})

    assert built(read, {"body": '{"a": 1}\n{}'}).content == b'{"a": 1}\n{}'


@pytest.mark.parametrize("kind", ["image/*", "*/*;q=1", "application/*"])
def test_range_of_types_is_sent_as_bytes(kind: str) -> None:
    content = {kind: {"schema": {"type": "string", "format": "binary"}}}
    read = api({"/x": {"post": operation(requestBody={"content": content})}})

    request = built(read, {"body": "aGk="})

    assert (request.content, request.headers["content-type"]) == (b"hi", "application/octet-stream")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("int", "integer"), ("String", "string"), ("float", "number"), ("Bool", "boolean"),
     ("long", "integer"), ("date", "string"), ("list", "array"), ("dict", "object")],
)  # fmt: skip
def test_types_are_read_as_people_write_them(written: str, meant: str) -> None:
    read = api(
        {"/x": {"get": operation({"name": "a", "in": "query", "schema": {"type": written}})}}
    )

    assert read.operations[0].tool["inputSchema"]["properties"]["a"]["type"] == meant


@pytest.mark.parametrize("values", [[True, False], [1, 2], ["a", None], [1.5]])
def test_choices_of_a_text_are_texts(values: list[Any]) -> None:
    schema = {"type": "string", "enum": values}
    read = api({"/x": {"get": operation({"name": "a", "in": "query", "schema": schema})}})

    choices = read.operations[0].tool["inputSchema"]["properties"]["a"]["enum"]
    assert [choice for choice in choices if choice is not None] == [
        value if isinstance(value, str) else json.dumps(value)
        for value in values
        if value is not None
    ]


@pytest.mark.parametrize(
    "left_out",
    [
        operation({"$ref": "#/components/parameters/Gone"}),
        operation(*({"name": f"p{n}", "in": "query", "schema": {}} for n in range(101))),
    ],
)
def test_parameter_that_is_not_read_is_told(left_out: JSONObject) -> None:
    read = api({"/x": {"get": left_out}})

    assert len(read.operations) == len(read.defects) == 1


@pytest.mark.parametrize("name", ["Bearer", "auth"])
@pytest.mark.parametrize("header", ["Authorization", "authorization"])
def test_key_that_is_described_as_a_bearer_token_is_sent_as_one(name: str, header: str) -> None:
    scheme = {"type": "apiKey", "in": "header", "name": header, "description": "'Bearer <token>'"}
    read = api(
        {"/x": {"get": operation()}},
        "2.0",
        securityDefinitions={name: scheme},
        security={name: []},  # people write the only alternative without its list
    )

    request = built(read, {}, **{f"{name.upper()}_KEY": "abc"})

    assert request.headers["Authorization"] == "Bearer abc"


@pytest.mark.parametrize("local", ["http://localhost:8080", "http://127.0.0.1/v1", "//0.0.0.0"])
def test_server_on_the_authors_machine_gives_way_to_another(local: str) -> None:
    servers = [{"url": local}, {"url": "https://api.example/v1"}]
    document = {"info": {"title": "A"}, "paths": {"/x": {"get": operation()}}, "servers": servers}

    read = read_api({"openapi": "3.0.0", **document}, file="a")
    at_home = read_api({"openapi": "3.0.0", **document}, file="a", came_from="http://localhost/a")

    assert read.integration.endpoint == "https://api.example/v1"
    assert "api.example" not in at_home.integration.endpoint


def test_names_in_other_letters_are_told_in_latin_ones() -> None:
    names: list[dict[str, Any]] = [
        {"name": name, "in": "query", "schema": {}} for name in ("名前", "größe", "город")
    ]
    read = api({"/x": {"get": operation(*names)}})

    properties = list(read.operations[0].tool["inputSchema"]["properties"])
    assert "value" not in properties
    assert all(name.isascii() for name in properties)
    assert parse_qsl(built(read, {properties[0]: "a"}).url.partition("?")[2]) == [("名前", "a")]
