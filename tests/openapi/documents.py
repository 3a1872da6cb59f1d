"""Small documents in each dialect, of one invented library of books."""

# ruff: noqa: E501 - the documents are easier to compare as they are

import json
from random import Random
from typing import Any

import yaml

BOOK = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "title": {"type": "string", "description": "The <b>title</b>, as printed."},
        "pages": {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        "sequel": {"$ref": "#/components/schemas/Book"},
        "note": {"type": "string", "nullable": True},
    },
}


def library(**more: Any) -> dict[str, Any]:
    """Return the library's API as a document of version 3.0."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "Town library", "version": "2.1", "description": "Books to borrow."},
        "servers": [{"url": "https://{place}.example/api", "variables": {"place": {"default": "library"}}}],
        "security": [{"key": []}],
        "paths": {
            "/books": {
                "parameters": [{"$ref": "#/components/parameters/Page"}],
                "get": {
                    "operationId": "listBooks",
                    "summary": "List the books",
                    "tags": ["books"],
                    "parameters": [
                        {"name": "genre", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                        {"name": "filter", "in": "query", "style": "deepObject", "explode": True,
                         "schema": {"type": "object", "properties": {"year": {"type": "integer"}}}},
                        {"name": "X-Branch", "in": "header", "schema": {"type": "string"}},
                    ],
                    "responses": {"200": {"description": "", "content": {"application/json": {
                        "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Book"}}}}}},
                },
                "post": {
                    "operationId": "books/add",
                    "summary": "Add a book",
                    "tags": ["books", "writing"],
                    "requestBody": {"$ref": "#/components/requestBodies/NewBook"},
                    "responses": {"201": {"description": "", "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Book"}}}}},
                },
            },
            "/books/{id}": {
                "get": {
                    "summary": "Get a book",
                    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                    "responses": {"200": {"description": "", "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Book"}}}}},
                },
                "delete": {
                    "operationId": "removeBook",
                    "summary": "Remove a book for ever",
                    "deprecated": True,
                    "tags": ["writing"],
                    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                    "responses": {"204": {"description": ""}},
                },
            },
            "/opening-hours": {
                "get": {"operationId": "opening_hours_get", "summary": "When it is open", "security": [],
                        "responses": {"200": {"description": "", "content": {"text/plain": {}}}}},
            },
        },
        "components": {
            "parameters": {"Page": {"name": "page", "in": "query", "schema": {"type": "integer"}}},
            "requestBodies": {"NewBook": {"required": True, "content": {"application/json": {
                "schema": {"allOf": [{"$ref": "#/components/schemas/Book"},
                                     {"type": "object", "required": ["shelf"],
                                      "properties": {"shelf": {"type": "string"}}}]}}}}},
            "schemas": {"Book": BOOK},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        },
        **more,
    }  # fmt: skip


def old_library() -> dict[str, Any]:
    """Return a part of it as a document of version 2.0."""
    return {
        "swagger": "2.0",
        "info": {"title": "Town library", "version": "1"},
        "host": "old.library.example",
        "basePath": "/v1",
        "schemes": ["http", "https"],
        "consumes": ["application/json"],
        "securityDefinitions": {"login": {"type": "basic"}},
        "security": [{"login": []}],
        "parameters": {"shelf": {"name": "shelf", "in": "query", "type": "string"}},
        "definitions": {"Book": {"type": "object", "required": ["title"],
                                 "properties": {"title": {"type": "string"}}}},
        "paths": {
            "/books": {
                "get": {"parameters": [{"$ref": "#/parameters/shelf"},
                                       {"name": "tag", "in": "query", "type": "array",
                                        "items": {"type": "string"}, "collectionFormat": "multi"}],
                        "responses": {"200": {"schema": {"type": "array", "items": {"$ref": "#/definitions/Book"}}}}},
                "post": {"parameters": [{"name": "book", "in": "body", "required": True,
                                         "schema": {"$ref": "#/definitions/Book"}}],
                         "responses": {"201": {"description": "made"}}},
            },
            "/covers": {
                "post": {"operationId": "uploadCover", "consumes": ["multipart/form-data"],
                         "parameters": [{"name": "title", "in": "formData", "type": "string", "required": True},
                                        {"name": "image", "in": "formData", "type": "file"}],
                         "responses": {"200": {"description": "stored"}}},
            },
            "/search": {
                "post": {"operationId": "search", "consumes": ["application/x-www-form-urlencoded"],
                         "parameters": [{"name": "words", "in": "formData", "type": "string", "required": True}],
                         "responses": {"200": {"description": "found"}}},
            },
        },
    }  # fmt: skip


def new_library() -> dict[str, Any]:
    """Return a part of it as a document of version 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Town library", "version": "3", "summary": "Books, as of late."},
        "servers": [{"url": "/v3"}],
        "paths": {
            "/books/{id}": {
                "put": {
                    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": ["string", "integer"]}}],
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/$defs/Change"}}}},
                    "responses": {},
                },
            },
        },
        "$defs": {"Change": {"type": "object", "properties": {
            "id": {"type": "string", "description": "A new number."},
            "due": {"type": ["string", "null"], "format": "date"},
            "state": {"oneOf": [{"const": "here"}, {"const": "lent"}]}}}},
    }  # fmt: skip


AS_YAML = """\
# The opening hours, as a person writes them.
openapi: 3.0.0
info: {title: Hours, version: 1.0.0}
servers:
  - url: https://hours.example
paths:
  /hours/{day}:
    get:
      operationId: hours
      summary: Opening hours of a day
      parameters:
        - name: day
          in: path
          required: true
          schema: {type: string, enum: [monday, no, 'on']}
      responses:
        '200': {description: The hours}
"""


def in_files(
    document: dict[str, Any], random: Random, name: str = "openapi.json"
) -> dict[str, str]:
    """Return a document in several files, divided at random: paths, components, or whole kinds."""
    root = json.loads(json.dumps(document))
    files: dict[str, str] = {}

    def text_of(value: Any, path: str) -> str:
        up = "../" * path.count("/")
        inner = json.dumps(value).replace('"#/', f'"{up}{name}#/')
        return (
            inner if path.endswith(".json") else yaml.safe_dump(json.loads(inner), sort_keys=False)
        )

    kinds = [("paths", root["paths"])]
    kinds += [(kind, parts) for kind, parts in root.get("components", {}).items() if parts]
    for kind, parts in kinds:
        suffix, folder = random.choice(["json", "yaml"]), random.choice(["", f"{kind}/", "a/b/"])
        how = random.choice(["here", "each", "all"])
        if how == "all":
            path = f"{folder}{kind}.{suffix}"
            files[path] = text_of(dict(parts), path)
            pointers = {part: part.replace("~", "~0").replace("/", "~1") for part in parts}
            parts.update({part: {"$ref": f"{path}#/{pointers[part]}"} for part in parts})
        for at, part in enumerate(list(parts) if how == "each" else ()):
            path = f"{folder}{kind}-{at}.{suffix}"
            files[path] = text_of(parts[part], path)
            parts[part] = {"$ref": random.choice(["./", ""]) + path}
    return {name: json.dumps(root), **files}
