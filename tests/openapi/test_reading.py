"""Documents of every dialect become tools that say what they do and how they are called."""

import json
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZipFile

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.effects.classifier import assess, declared_effect
from catalog.formats.descriptors import JSONObject, Loaded
from catalog.formats.files import RefusedError
from catalog.formats.loader import load_path, load_value
from catalog.formats.openapi.api_choice import ApiChoice, choose, count_tags
from catalog.formats.openapi.api_document import (
    join_files,
    join_pasted,
    looks_like_document,
    parse_document,
    read_document,
)
from catalog.formats.openapi.api_names import action_for
from catalog.formats.readers.openapi import ReadApi, read_api
from catalog.servers.client.document_readers import join_archive
from marketplace.additions.recognition import recognise
from tests.examples import EXAMPLES_OF_TEXTS
from tests.openapi.documents import AS_YAML, in_files, library, new_library, old_library


def tools_of(document: JSONObject, **more: Any) -> dict[str, JSONObject]:
    """Return the tools of a document by name."""
    api = read_api(document, file="api.json", **more)
    return {one.name: one.tool for one in api.operations}


def properties(tool: JSONObject) -> dict[str, JSONObject]:
    return dict(tool["inputSchema"]["properties"])


def sending(tool: JSONObject) -> JSONObject:
    return dict(tool["annotations"]["http"])


def loaded_from(document: JSONObject, folder: Path) -> Loaded:
    """Return what a file with the document has."""
    (folder / "api.json").write_text(json.dumps(document))
    return load_path(folder)


def test_operations_become_tools_with_good_names() -> None:
    api = read_api(library(), file="api.json")

    assert [one.name for one in api.operations] == [
        *("list_books", "books_add", "get_book", "remove_book", "opening_hours_get")
    ]
    assert api.integration.slug == "town-library"
    assert (api.integration.kind, api.integration.transport) == ("openapi", "openapi")
    assert api.integration.endpoint == "https://library.example/api"
    assert api.integration.required_secrets == ("KEY",)
    assert api.defects == ()


def test_arguments_of_all_places_are_in_one_flat_schema() -> None:
    tool = tools_of(library())["books_add"]

    schema = tool["inputSchema"]
    assert set(schema["properties"]) == {
        *("page", "title", "pages", "sequel", "note", "shelf", "answer_fields")
    }
    assert schema["required"] == ["title", "shelf"]  # `id` is only in answers
    assert schema["properties"]["title"]["description"] == "The title, as printed."
    assert schema["properties"]["pages"] == {"type": "integer", "exclusiveMinimum": 1}
    assert schema["properties"]["note"] == {"type": ["string", "null"]}
    assert schema["additionalProperties"] is False
    assert "such as id, title" in schema["properties"]["answer_fields"]["description"]


def test_schema_that_contains_itself_ends() -> None:
    sequel = properties(tools_of(library())["books_add"])["sequel"]

    assert sequel["properties"]["title"]["type"] == "string"
    assert len(json.dumps(sequel)) < 4_000


def test_old_document_reads_like_a_new_one() -> None:
    tools = tools_of(old_library())

    assert list(tools) == ["list_books", "create_book", "upload_cover", "search"]
    assert set(properties(tools["create_book"])) == {"title"}
    assert tools["create_book"]["inputSchema"]["required"] == ["title"]
    assert sending(tools["upload_cover"])["body"]["as"] == "multipart"
    assert sending(tools["upload_cover"])["body"]["binary"] == ["image"]
    assert sending(tools["search"])["body"]["as"] == "form"
    assert sending(tools["list_books"])["parameters"][1]["explode"] is True
    api = read_api(old_library(), file="api.json")
    assert api.integration.endpoint == "https://old.library.example/v1"
    assert api.integration.required_secrets == ("LOGIN_USERNAME", "LOGIN_PASSWORD")


def test_document_of_version_3_1_reads_with_an_address_relative_to_its_own() -> None:
    api = read_api(new_library(), file="api.json", came_from="https://books.example/doc/api.json")

    [operation] = api.operations
    assert api.integration.endpoint == "https://books.example/v3"
    assert operation.name == "replace_book"
    shown = properties(operation.tool)
    # Two things of one name: the one of the body says where it belongs.
    assert shown["id"]["type"] == ["string", "integer"]
    assert shown["id_body"]["description"] == "A new number."
    assert shown["state"] == {"anyOf": [{"const": "here"}, {"const": "lent"}]}


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("//library.example/v2/", "https://library.example/v2"),
        ("v2", "https://books.example/doc/v2"),
        ("http://[", ""),
    ],
)
def test_address_of_the_api_is_completed(url: str, address: str) -> None:
    document = read_document(library(servers=[{"url": url}]))

    assert document.address("https://books.example/doc/api.json") == address


def test_yaml_is_read_as_people_mean_it() -> None:
    assert looks_like_document(AS_YAML)

    [tool] = tools_of(parse_document(AS_YAML)).values()

    assert properties(tool)["day"]["enum"] == ["monday", "no", "on"]
    assert tool["title"] == "Opening hours of a day"


def test_file_with_a_document_is_a_source_of_tools(tmp_path: Path) -> None:
    (tmp_path / "hours.yaml").write_text(AS_YAML)

    loaded = load_path(tmp_path)

    assert [one.full_name for one in loaded.capabilities] == ["hours__hours"]
    assert loaded.integrations[0].source_ref["dialect"] == "3.0"
    assert loaded.defects == ()


def test_effects_come_from_method_and_words(tmp_path: Path) -> None:
    loaded = loaded_from(library(), tmp_path)

    effects = {
        one.action: assess(one, declared=declared_effect(one)) for one in loaded.capabilities
    }
    assert {name: one.effect for name, one in effects.items()} == {
        "list_books": "read",
        "books_add": "write",
        "get_book": "read",
        "remove_book": "delete",
        "opening_hours_get": "read",
    }
    by_method = [
        one.quote for one in effects["remove_book"].evidence if one.source == "http_method"
    ]
    assert by_method == ["DELETE"]
    # Approval by default asks for a read that is not sure.
    assert effects["list_books"].confidence >= 0.8


def test_only_a_document_says_how_a_tool_is_sent() -> None:
    tool = {"name": "x", "description": "Y.", "annotations": {"http": {"method": "GET"}}}

    [read] = load_value({"tools": [tool]}, file="tools.json").capabilities

    assert read.annotations == {}


def test_reading_by_post_is_no_write_for_its_method_alone(tmp_path: Path) -> None:
    document = library()
    document["paths"] = {
        "/books/search": {"post": {"operationId": "searchBooks", "summary": "Search the books"}}
    }
    [tool] = loaded_from(document, tmp_path).capabilities

    assert assess(tool, declared=declared_effect(tool)).effect == "read"


def test_reference_to_another_document_is_not_followed() -> None:
    document = library()
    book = {"$ref": "https://evil.example/book.json#/Book"}
    document["components"]["schemas"]["Book"] = book
    document["paths"]["/books"]["get"]["parameters"].append({"$ref": "other.yaml#/page"})

    tools = tools_of(document)

    assert set(properties(tools["books_add"])) >= {"shelf"}
    assert "evil.example" not in json.dumps(tools)


def test_operation_with_wrong_grammar_is_reported_and_the_others_load() -> None:
    document = library()
    document["paths"]["/books"]["get"]["parameters"][0]["in"] = "nowhere"

    api = read_api(document, file="api.json")

    assert "list_books" not in [one.name for one in api.operations]
    assert len(api.operations) == 4
    [defect] = api.defects
    assert defect.field == "GET /books"
    assert "is not valid OpenAPI: parameters.1" in defect.reason


def test_operation_of_another_server_is_left_out() -> None:
    document = library()
    document["paths"]["/books/{id}"]["servers"] = [{"url": "https://files.example"}]

    api = read_api(document, file="api.json")

    assert {one.reason for one in api.defects} == {"is answered by another server"}
    assert "get_book" not in [one.name for one in api.operations]


@pytest.mark.parametrize("scheme", [{"type": "mutualTLS"}, {"type": "http", "scheme": "digest"}])
def test_sign_in_that_cannot_be_sent_leaves_its_operations_out(scheme: dict[str, str]) -> None:
    document = library()
    document["components"]["securitySchemes"]["key"] = scheme

    api = read_api(document, file="api.json")

    assert [one.name for one in api.operations] == ["opening_hours_get"]
    reason = "needs a sign-in that Pegboard cannot send: key"
    assert {defect.reason for defect in api.defects} == {reason}


@pytest.mark.parametrize(
    ("scheme", "secrets"),
    [
        ({"type": "apikey", "name": "X-Key", "in": "header"}, ("KEY",)),
        ({"type": "apiKey", "name": "X-Key"}, ("KEY",)),
        ({"type": "Bearer"}, ("KEY_TOKEN",)),
        ({"type": "http", "scheme": " Basic "}, ("KEY_USERNAME", "KEY_PASSWORD")),
    ],
)
@pytest.mark.parametrize("security", [[{"key": []}], {"key": []}, ["key"]])
def test_sign_in_is_read_however_a_document_writes_it(
    scheme: dict[str, str], secrets: tuple[str, ...], security: Any
) -> None:
    document = library(security=security)
    document["components"]["securitySchemes"] = {"key": scheme}

    assert read_api(document, file="api.json").integration.required_secrets == secrets


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ({"url": "https://{r}.a.example", "variables": {"r": {"enum": ["eu", "us"]}}}, "eu.a"),
        ("https://b.example/v1/", "b"),
        ({"url": "c.example/v1"}, "c"),
        ({"url": "https://d.example/v1?version=2"}, "d"),
    ],
)
def test_address_is_read_however_a_server_writes_it(server: Any, address: str) -> None:
    read = read_api(library(servers=[server]), file="api.json")

    assert read.integration.endpoint.startswith(f"https://{address}.example")
    assert "?" not in read.integration.endpoint
    assert "{" not in read.integration.endpoint


@pytest.mark.parametrize("version", ["3", "v3.0.1", 3.1])
def test_version_and_paths_may_be_written_otherwise(version: Any) -> None:
    operation = {"parameters": [{"name": "a"}, {"in": "query"}], "responses": {}}
    document = library(openapi=version, paths={"books": {"GET": operation}, "x-note": {}})

    [tool] = read_api(document, file="api.json").tools()

    assert list(tool["inputSchema"]["properties"]) == ["a"]
    assert tool["annotations"]["http"]["path"] == "/books"


@pytest.mark.parametrize(
    ("scheme", "secrets", "about"),
    [
        ({"type": "http", "scheme": "bearer"}, ("KEY_TOKEN",), ""),
        ({"type": "http", "scheme": "Basic"}, ("KEY_USERNAME", "KEY_PASSWORD"), ""),
        ({"type": "apiKey", "in": "query", "name": "api_key"}, ("KEY",), ""),
        ({"type": "apiKey", "in": "cookie", "name": "session"}, ("KEY",), ""),
        ({"type": "oauth2", "flows": {}}, ("KEY_TOKEN",), "does not carry out this sign-in"),
        (
            {"type": "openIdConnect", "openIdConnectUrl": "https://id.example"},
            (),
            "signs in",
        ),
    ],
)
def test_security_schemes_become_secrets(
    scheme: JSONObject, secrets: tuple[str, ...], about: str
) -> None:
    document = library()
    document["components"]["securitySchemes"]["key"] = scheme

    integration = read_api(document, file="api.json").integration

    assert integration.required_secrets == secrets
    assert about in integration.source_ref["variables"][0]["description"]


@pytest.mark.parametrize("name", ["Host", "content-length", "X Key", "X-Key\r\nEvil", "Cookie"])
def test_key_that_would_change_the_request_is_not_sent(name: str) -> None:
    document = library()
    document["components"]["securitySchemes"]["key"]["name"] = name

    assert [one.name for one in read_api(document, file="a").operations] == ["opening_hours_get"]


def test_document_without_sign_in_takes_a_token_if_there_is_one() -> None:
    document = library(security=None)
    del document["components"]["securitySchemes"]

    integration = read_api(document, file="api.json").integration

    assert integration.required_secrets == ()
    assert [one["name"] for one in integration.source_ref["variables"]] == ["API_TOKEN"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (
            {"openapi": "4.0.0", "paths": {}},
            "is not an OpenAPI document of version 2.0, 3.0, 3.1 or 3.2",
        ),
        ({"openapi": "3.0.0", "paths": []}, "has no paths"),
        (library(servers=[]), "says no address of the API"),
        (library(servers=[{"url": "ftp://library.example"}]), "says no address of the API"),
        (library(paths={}), "has no operation to call"),
        (library(servers=[{"url": "https://{tenant}.example"}]), "says no address of the API"),
    ],
)
def test_document_without_use_is_refused_with_the_reason(document: JSONObject, reason: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_api(document, file="api.json")

    assert reason in refused.value.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("openapi: 3.0.0\npaths: &p {}\nx: *p", "alias or anchor"),
        ('{"openapi": "3.0.0", "paths": ' + "[" * 100 + "]" * 100 + "}", "nested more than 64"),
        ("openapi: 3.0.0\nx: " + "y" * (16 * 1024 * 1024), "has more than 16,777,216 bytes"),
        ("openapi: 3.0.0\npaths: !!python/object:os.system {}", "YAML tag"),
    ],
)
def test_hostile_text_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_document(text)

    assert reason in refused.value.reason


def test_schemas_that_grow_with_every_level_stay_small() -> None:
    document = library()
    schemas = document["components"]["schemas"]
    for at in range(40):
        inner = {"$ref": f"#/components/schemas/L{at + 1}"}
        schemas[f"L{at}"] = {"type": "object", "properties": {f"p{one}": inner for one in range(6)}}
    document["components"]["requestBodies"]["NewBook"]["content"]["application/json"] = {
        "schema": {"$ref": "#/components/schemas/L0"}
    }

    tool = tools_of(document)["books_add"]

    assert len(json.dumps(tool)) < 40_000


@pytest.mark.parametrize("all_of", [True, False])
def test_schema_of_all_its_own_parts_ends(all_of: bool) -> None:
    document = library()
    ring: JSONObject = {"$ref": "#/components/schemas/Ring"}
    document["components"]["schemas"]["Ring"] = {"allOf": [ring, ring]} if all_of else ring
    document["components"]["schemas"]["Book"] = ring

    assert len(tools_of(document)) == 5


@pytest.mark.parametrize(
    ("method", "path", "operation_id", "name"),
    [
        ("get", "/pets", "", "list_pets"),
        ("get", "/pets/{id}", "", "get_pet"),
        ("post", "/v1/pets/{id}/toys", "", "create_pet_toy"),
        ("delete", "/api/pets/{id}", "", "delete_pet"),
        ("get", "/items/{item_id}", "read_item_items__item_id__get", "read_item"),
        ("get", "/x", "listCoreV1NamespacedPod", "list_core_v1_namespaced_pod"),
        ("get", "/x", "issues/list-for-repo", "issues_list_for_repo"),
        ("get", "/status", "", "get_status"),
        ("get", "/", "", "get"),
    ],
)
def test_names(method: str, path: str, operation_id: str, name: str) -> None:
    assert action_for(method, path, operation_id) == name


def test_operations_of_one_name_get_different_ones() -> None:
    document = library()
    document["paths"]["/books"]["get"]["operationId"] = "books"
    document["paths"]["/books"]["post"]["operationId"] = "books"

    assert list(tools_of(document))[:2] == ["books", "books_post"]


def api() -> ReadApi:
    return read_api(library(), file="api.json")


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (ApiChoice(), "list_books books_add get_book remove_book opening_hours_get"),
        (ApiChoice(tags=("writing",)), "books_add remove_book"),
        (ApiChoice(words="BOOK get"), "get_book"),
        (ApiChoice(tags=("books",), limit=1), "list_books"),
        (ApiChoice(names=("get_book",)), "get_book"),
        (ApiChoice(tags=("none",)), ""),
    ],
)
def test_operations_are_chosen_by_tag_words_name_and_limit(choice: ApiChoice, names: str) -> None:
    assert [one.name for one in choose(api().operations, choice)] == names.split()
    assert ApiChoice.from_json(choice.as_json()) == choice


def test_tags_are_counted() -> None:
    assert count_tags(api().operations) == [("books", 2), ("writing", 2)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "#/x", "query"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["$ref", "type", "properties", "items", "allOf", "oneOf", "in", "name", "schema",
             "enum", "content", "required", "get", "post", "parameters", "requestBody",
             "responses", "/a"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=15,
)  # fmt: skip


@given(VALUES, VALUES, VALUES)
def test_no_document_breaks_the_reader(paths: Any, schemas: Any, security: Any) -> None:
    document = library(paths={"/a": paths, "/b": {"post": paths}}, security=security)
    document["components"]["schemas"] = schemas

    try:
        tools = tools_of(document)
    except RefusedError:
        return
    for tool in tools.values():
        jsonschema_rs.validator_for(tool["inputSchema"])


def pasted(files: dict[str, str], _: Path) -> str:
    document = recognise("\n".join(f"# {name}\n{text}" for name, text in files.items()))
    return document.document


def fenced(files: dict[str, str], _: Path) -> str:
    parts = [f"**{name}**\n```json\n{text}\n```" for name, text in reversed(files.items())]
    return recognise("\n\n".join(parts)).document


def archived(files: dict[str, str], _: Path) -> str:
    body = BytesIO()
    with ZipFile(body, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"shop-main/api/{name}", text)
        archive.writestr("shop-main/README.md", "# Shop")
    return join_archive(body.getvalue())


@pytest.mark.parametrize("way", [pasted, fenced, archived])
@pytest.mark.parametrize("seed", range(12))
def test_document_in_files_is_the_whole(
    way: Callable[[dict[str, str], Path], str], seed: int, tmp_path: Path
) -> None:
    whole = read_api(library(), file="api.json")
    files = in_files(library(), Random(seed))

    text = way(files, tmp_path) if len(files) > 1 else files["openapi.json"]

    api = read_api(parse_document(text), file="api.json")
    assert {operation.name: operation.tool for operation in api.operations} == {
        operation.name: operation.tool for operation in whole.operations
    }
    assert (api.defects, api.integration.endpoint) == ((), whole.integration.endpoint)
    assert api.integration.required_secrets == whole.integration.required_secrets


@pytest.mark.parametrize("seed", range(4))
def test_files_of_a_folder_are_one_document(seed: int, tmp_path: Path) -> None:
    for name, text in in_files(library(), Random(seed)).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    loaded = load_path(tmp_path)

    assert len(loaded.capabilities) == 5
    assert "Left out" not in str(loaded.defects)


def test_missing_part_costs_its_operations_and_is_named() -> None:
    files = {
        "openapi.yaml": AS_YAML.replace(
            "paths:", "paths:\n  /lost:\n    $ref: lost/path.yaml\n", 1
        ),
        "other.yaml": "{}",
    }
    text = f"{files['openapi.yaml']}\n"

    api = read_api(parse_document(text), file="api.yaml")

    whole = read_api(parse_document(AS_YAML), file="api.yaml")
    assert [each.name for each in api.operations] == [each.name for each in whole.operations]
    assert any(defect.field == "lost/path.yaml" for defect in api.defects)
    assert any("not there" in defect.reason for defect in api.defects)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n# pets.yaml\nb: 2",
        AS_YAML + "\n# pets.yaml\n",
        "-" * 50_000,
        "#=== " * 10_000,
        "$ref: '" * 5_000,
    ],
)
def test_other_texts_are_no_documents_in_files(text: str) -> None:
    assert join_pasted(text) == text


@settings(max_examples=EXAMPLES_OF_TEXTS, deadline=None)
@given(st.text(alphabet="#=/$ref:'\" .yamljson-\n{}", max_size=300))
def test_any_text_is_divided_or_refused(text: str) -> None:
    with suppress(RefusedError):
        parse_document(join_pasted(f"openapi: 3.0.0\npaths: {{}}\n{text}"))


def test_circles_of_parts_end() -> None:
    files = {
        "openapi.json": json.dumps(
            library(paths={"/a": {"get": {"parameters": [{"$ref": "a.json#/p"}], "responses": {}}}})
        ),
        "a.json": json.dumps({"p": {"$ref": "b.json#/p"}}),
        "b.json": json.dumps({"p": {"$ref": "a.json#/p"}}),
    }

    text = join_files(files, "openapi.json")

    assert text.count("#=== ") == 3
    assert read_api(parse_document(text), file="x").operations
