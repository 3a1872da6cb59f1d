"""An OpenAPI document: its version, its text as a value, its servers, and its local references.

A document of version 2.0 is brought into the form of version 3, so that all later steps know one
grammar. References to other documents are never fetched.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from acl.platform.open_registry import modules_of
from catalog.formats.descriptors import JSONObject
from catalog.formats.files import MB, Limits, RefusedError, parse_json, parse_yaml, resolve_types
from catalog.formats.icon_choice import icon_address
from catalog.formats.openapi._swagger import convert_swagger

# Documents of large services have ten megabytes and a million YAML elements.
LIMITS = Limits(file=16 * MB, manifest=16 * MB, yaml_events=2_000_000, yaml_depth=64)
MOST_OPERATIONS = 5_000
MOST_HOPS = 20
DIALECTS = modules_of("catalog.formats.openapi.dialects")
METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace", "query")


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """A document in the form of version 3, with the version of its text."""

    value: JSONObject
    version: str

    @property
    def title(self) -> str:
        """Return the title of the API."""
        return _text(_mapping(self.value.get("info")).get("title"))

    @property
    def description(self) -> str:
        """Return the description of the API."""
        info = _mapping(self.value.get("info"))
        return _text(info.get("summary")) or _text(info.get("description"))

    @property
    def icon(self) -> str:
        """Return the address of its logo, an extension that documentation tools know, or ""."""
        logo = _mapping(_mapping(self.value.get("info")).get("x-logo"))
        return icon_address(logo.get("url"))

    @property
    def api_version(self) -> str:
        """Return the version of the API, not of the format."""
        return _text(_mapping(self.value.get("info")).get("version"))

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """Return what of another form was not taken, and why."""
        entries = self.value.get("x-left-out")
        pairs = entries if isinstance(entries, list) else ()
        return [(str(pair[0]), str(pair[1])) for pair in pairs if len(pair) == 2]

    def resolve(self, value: Any) -> Any:
        """Follow local references from a value; None for one that leads outside or nowhere."""
        for _ in range(MOST_HOPS):
            if not isinstance(value, dict) or not isinstance(value.get("$ref"), str):
                return value
            value = self.target(value["$ref"])
        return None

    def parameter(self, value: Any) -> JSONObject:
        """Return a parameter; a `querystring` of version 3.2 is spread over the query."""
        parameter = _mapping(self.resolve(value))
        if parameter.get("in") != "querystring":
            return parameter
        media = next(iter(_mapping(parameter.get("content")).values()), None)
        about: JSONObject = {
            key: parameter[key] for key in ("description", "required") if key in parameter
        }
        name, schema = parameter.get("name") or "query", _mapping(media).get("schema")
        return {"in": "query", "name": name, "style": "form", "schema": schema, **about}

    def target(self, reference: str) -> Any:
        """Return the value that a local reference names, or None."""
        if not reference.startswith("#/"):
            return None
        value: Any = self.value
        for step in reference[2:].split("/"):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                value = value.get(name)
            elif isinstance(value, list) and name.isdecimal() and len(name) < 6:
                value = value[int(name)] if int(name) < len(value) else None
            else:
                return None
        return value

    def address(self, came_from: str = "") -> str:
        """Return the API's address: the first server with its default variables, or "".

        A relative one is meant relative to the address that the document came from.
        """
        return self.address_of(self.value.get("servers"), came_from)

    def address_of(self, servers: Any, came_from: str = "") -> str:
        """Return the address of the first of some servers."""
        first = servers[0] if isinstance(servers, list) and servers else None
        server = _mapping(first)
        url = _text(server.get("url"))
        for name, variable in _mapping(server.get("variables")).items():
            url = url.replace(f"{{{name}}}", _text(_mapping(variable).get("default")))
        try:
            return _completed(url, came_from).rstrip("/")
        except ValueError:  # an address such as http://[
            return ""


def recognises(value: Any) -> bool:
    """Return True for a mapping with paths and the version of a known dialect."""
    if not isinstance(value, dict):
        return False
    return (bool(_dialect(value)) and "paths" in value) or _convertible(value) is not None


def read_document(value: Any) -> OpenApiDocument:
    """Read a parsed document; RefusedError if it is none that Pegboard reads."""
    if not isinstance(value, dict):
        raise RefusedError("must be a mapping")
    value = resolve_types(value)
    if (dialect := _convertible(value)) is not None:
        value = dialect.convert(value)
    version = _dialect(value)
    if not version:
        raise RefusedError("is not an OpenAPI document of version 2.0, 3.0, 3.1 or 3.2")
    if not isinstance(value.get("paths"), dict):
        raise RefusedError("has no paths", "paths")
    return OpenApiDocument(convert_swagger(value) if version == "2.0" else value, version)


def parse_document(text: str) -> Any:
    """Parse the text of a document, which is JSON or YAML."""
    if len(text) > LIMITS.file or len(text.encode("utf-8", "surrogatepass")) > LIMITS.file:
        raise RefusedError(f"has more than {LIMITS.file:,} bytes")
    if text.lstrip()[:1] in ("{", "["):
        return parse_json(text, max_depth=LIMITS.json_depth)
    return parse_yaml(text, limits=LIMITS)


def looks_like_document(text: str) -> bool:
    """Return True if a text seems to be an OpenAPI document, judged by its first kilobytes."""
    start = text.lstrip()[:20_000]
    words = ('"openapi"', '"swagger"') if start[:1] == "{" else ("\nopenapi:", "\nswagger:")
    signs = [dialect.SIGN for dialect in DIALECTS.values()]
    return any(word in f"\n{start}" for word in (*words, *signs))


def _convertible(value: JSONObject) -> ModuleType | None:
    """Return the other form of description that a document has, or None."""
    return next((form for form in DIALECTS.values() if form.recognises(value)), None)


def _dialect(value: JSONObject) -> str:
    version = str(value.get("openapi") or value.get("swagger") or "")
    versions = (("2.0", "2"), ("3.0", "3.0"), ("3.1", "3.1"), ("3.2", "3.2"))
    is_old = "swagger" in value
    for dialect, start in versions:
        if version.startswith(start) and is_old == (dialect == "2.0"):
            return dialect
    return ""


def _completed(url: str, came_from: str) -> str:
    """Return an address with scheme and host, those of `came_from` where it has none."""
    if url.startswith("//"):
        return f"{urlsplit(came_from).scheme or 'https'}:{url}"
    if urlsplit(url).netloc:
        return url
    return urljoin(came_from, url or "/") if came_from else ""


def _mapping(value: Any) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


__all__ = [
    "LIMITS",
    "METHODS",
    "MOST_OPERATIONS",
    "OpenApiDocument",
    "looks_like_document",
    "parse_document",
    "read_document",
    "recognises",
]
