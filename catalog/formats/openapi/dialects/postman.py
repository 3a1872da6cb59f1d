"""Postman collections of versions 2.0 and 2.1: requests become operations, folders become tags.

Values of a request are examples; a credential among them is dropped, and its place is asked for.
"""

import re
from collections.abc import Iterator
from typing import Any

from acl.platform.strict_json import parse_json
from catalog.formats.descriptors import JSONObject

SIGN = "schema.getpostman.com"
_VARIABLE = re.compile(r"\{\{\s*([\w.$-]+)\s*\}\}")
_START = re.compile(r"^((?:[\w{}.-]+://)?[^/?#]*)(.*)", re.DOTALL)
_DEEPEST = 20
_AUTHORIZATION = "authorization"
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}
_FORMS = {"urlencoded": "application/x-www-form-urlencoded", "formdata": "multipart/form-data"}


def recognises(value: JSONObject) -> bool:
    """Return True for a collection."""
    info = value.get("info")
    schema = str(info.get("schema", "")) if isinstance(info, dict) else ""
    return SIGN in schema and isinstance(value.get("item"), list)


def convert(value: JSONObject) -> JSONObject:
    """Return a collection as an OpenAPI document; `x-left-out` has what was not taken, and why."""
    return _Collection(value).document()


class _Collection:
    """A collection: its variables, and the operations that its requests become."""

    def __init__(self, value: JSONObject) -> None:
        self._value = value
        self._values = {
            str(entry.get("key")): str(entry.get("value") or "")
            for entry in _mappings(value.get("variable"))
        }
        self._paths: JSONObject = {}
        self._schemes: JSONObject = {}
        self._left_out: list[list[str]] = []
        self._base = ""

    def document(self) -> JSONObject:
        """Return the OpenAPI document."""
        info = self._value["info"]
        for event in ("event", "protocolProfileBehavior"):
            if self._value.get(event):
                self._left_out.append([event, "is run by Postman alone"])
        requests = list(self._requests(self._value["item"], (), self._value.get("auth")))
        for place, folders, item, auth in requests:
            self._take(place, folders, item, auth)
        return {
            "openapi": "3.0.3",
            "info": {
                "title": str(info.get("name") or "API"),
                "description": _text(info.get("description")),
                "version": _text(info.get("version")),
            },
            "servers": [{"url": self._base}] if self._base else [],
            "paths": self._paths,
            "components": {"securitySchemes": self._schemes},
            "x-left-out": self._left_out,
        }

    def _requests(
        self, items: Any, folders: tuple[str, ...], auth: Any, place: str = "item"
    ) -> Iterator[tuple[str, tuple[str, ...], JSONObject, Any]]:
        for at, item in enumerate(items if isinstance(items, list) else ()):
            item_place = f"{place}[{at}]"
            if not isinstance(item, dict) or len(folders) > _DEEPEST:
                self._left_out.append([item_place, "is neither a request nor a folder"])
            elif isinstance(item.get("item"), list):
                names = (*folders, str(item.get("name") or "")[:60])
                yield from self._requests(item["item"], names, item.get("auth") or auth, item_place)
            elif "request" in item:
                yield item_place, folders, item, auth
            else:
                self._left_out.append([item_place, "is neither a request nor a folder"])

    def _take(self, place: str, folders: tuple[str, ...], item: JSONObject, auth: Any) -> None:
        request = item["request"]
        request = {"url": request} if isinstance(request, str) else request
        request = request if isinstance(request, dict) else {}
        url = request.get("url")
        raw = _text(url.get("raw")) if isinstance(url, dict) else _text(url)
        origin, path, parameters = self._address(raw, url if isinstance(url, dict) else {})
        if not origin:
            self._left_out.append([place, "has no address that can be called"])
            return
        self._base = self._base or origin
        method = _text(request.get("method") or "GET").lower()
        entry = self._paths.setdefault(path, {})
        if method in entry:
            reason = f"is a second request with {method.upper()} {path}; the first is read"
            self._left_out.append([place, reason])
            return
        parameters += [
            _parameter("header", header)
            for header in _mappings(request.get("header"))
            if _text(header.get("key")).lower() not in ("content-type", "accept", _AUTHORIZATION)
        ]
        entry[method] = {
            "summary": _text(item.get("name")),
            "description": _text(request.get("description")) or _text(item.get("name")),
            "tags": [folder for folder in folders if folder][-1:],
            "parameters": parameters,
            "responses": {},
            **({"servers": [{"url": origin}]} if origin != self._base else {}),
            **self._body(place, request.get("body")),
            **self._security(request, auth),
        }

    def _address(self, raw: str, parts: JSONObject) -> tuple[str, str, list[JSONObject]]:
        """Return origin, path template and parameters of a request's address."""
        # Variables of the path and the query are arguments, whatever the collection has for them.
        start, rest = _START.findall(raw)[0]
        start = _VARIABLE.sub(lambda name: self._values.get(name[1]) or name[0], start)
        address, _, query = f"{start}{rest}".partition("#")[0].partition("?")
        match = re.match(r"(https?://[^/{}\s]+)(/.*)?$", address)
        if match is None:
            return "", "", []
        path = re.sub(r"/:([\w-]+)", r"/{\1}", _VARIABLE.sub(r"{\1}", match[2] or "/"))
        about = {_text(entry.get("key")): entry for entry in _mappings(parts.get("variable"))}
        parameters = [
            {**_parameter("path", {"key": name, **about.get(name, {})}), "required": True}
            for name in dict.fromkeys(re.findall(r"\{([^{}]+)\}", path))
        ]
        listed = _mappings(parts.get("query")) or [
            dict(zip(("key", "value"), pair.partition("=")[::2], strict=True))
            for pair in query.split("&")
            if pair
        ]
        return match[1], path, parameters + [_parameter("query", entry) for entry in listed]

    def _body(self, place: str, body: Any) -> JSONObject:
        if not isinstance(body, dict) or not body.get("mode") or body.get("disabled"):
            return {}
        mode = str(body["mode"])
        if mode in _FORMS:
            fields = {
                _text(entry.get("key")): {
                    "type": "string",
                    "description": _text(entry.get("description")),
                    **({"format": "binary"} if entry.get("type") == "file" else {}),
                }
                for entry in _mappings(body.get(mode))
            }
            return _content(_FORMS[mode], {"type": "object", "properties": fields})
        if mode == "graphql":
            fields = {"query": {"type": "string"}, "variables": {"type": "object"}}
            return _content("application/json", {"type": "object", "properties": fields})
        try:
            example = parse_json(_VARIABLE.sub("x", _text(body.get("raw")) or "null"))
        except (ValueError, RecursionError):
            example = None
        if mode == "raw" and example is not None:
            return _content("application/json", _schema_of(example))
        if mode == "raw":
            return _content("text/plain", {"type": "string"})
        self._left_out.append([place, f"has a body of kind {mode}, which was left out"])
        return {}

    def _security(self, request: JSONObject, auth: Any) -> JSONObject:
        auth = request.get("auth") or auth
        kind = _text(auth.get("type")) if isinstance(auth, dict) else ""
        headers = [_text(entry.get("key")).lower() for entry in _mappings(request.get("header"))]
        if not kind and _AUTHORIZATION in headers:
            kind = "bearer"
        if kind in ("", "noauth"):
            return {"security": []}
        scheme: JSONObject = {"type": "http", "scheme": "basic" if kind == "basic" else "bearer"}
        if kind == "apikey":
            listed = auth.get("apikey")
            fields = {_text(field.get("key")): field.get("value") for field in _mappings(listed)}
            fields |= listed if isinstance(listed, dict) else {}
            place = "query" if fields.get("in") == "query" else "header"
            scheme = {
                "type": "apiKey",
                "in": place,
                "name": _text(fields.get("key")) or "X-Api-Key",
            }
        self._schemes.setdefault(kind, scheme)
        return {"security": [{kind: []}]}


def _parameter(place: str, entry: JSONObject) -> JSONObject:
    name, description = _text(entry.get("key")), _text(entry.get("description"))
    return {"in": place, "name": name, "description": description, "schema": {"type": "string"}}


def _content(media: str, schema: JSONObject) -> JSONObject:
    return {"requestBody": {"content": {media: {"schema": schema}}}}


def _schema_of(example: Any, depth: int = 0) -> JSONObject:
    """Return a schema of the shape that an example has; its values are not kept."""
    if isinstance(example, dict) and depth < _DEEPEST:
        inner = {str(key): _schema_of(value, depth + 1) for key, value in example.items()}
        return {"type": "object", "properties": inner}
    if isinstance(example, list) and depth < _DEEPEST:
        return {"type": "array", "items": _schema_of(example[0], depth + 1) if example else {}}
    kind = _TYPES.get(type(example), "")
    return {"type": kind} if kind else {}


def _mappings(value: Any) -> list[JSONObject]:
    """Return the entries of a list that are mappings and in use."""
    entries = value if isinstance(value, list) else []
    return [item for item in entries if isinstance(item, dict) and not item.get("disabled")]


def _text(value: Any) -> str:
    if isinstance(value, dict):  # a description with its format
        value = value.get("content")
    return str(value).strip() if isinstance(value, (str, int, float)) else ""
