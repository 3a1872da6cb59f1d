"""An OpenAPI document: its version, its text as a value, its servers, and its local references.

A document of version 2.0 is brought into the form of version 3, so that all later steps know one
grammar. A document in several files is one text, in which each part stands behind a line with its
name; whoever has the address, the folder or the archive collects them first. What is not there is
named and left out.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from acl.platform.open_registry import modules_of
from catalog.formats.descriptors import JSONObject
from catalog.formats.files import MB, Limits, RefusedError, parse_json, parse_yaml, resolve_types
from catalog.formats.icon_choice import icon_address
from catalog.formats.launches import with_scheme
from catalog.formats.openapi._swagger import convert_swagger

# Documents of large services have ten megabytes and a million YAML elements.
LIMITS = Limits(file=16 * MB, manifest=16 * MB, yaml_events=2_000_000, yaml_depth=64)
MOST_OPERATIONS = 5_000
MOST_HOPS = 20
DIALECTS = modules_of("catalog.formats.openapi.dialects")
METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace", "query")

MOST_PARTS = 60
_DEEPEST_PART = 6
_PART = "#=== "
_PART_LINE = re.compile(r"^#=== (\S{1,500})(?: !(.{0,300}))?\n", re.MULTILINE)
# A line that names the file which follows, as people write it between parts that they paste.
_PASTED_LINE = re.compile(
    r"^[ \t]*+(?:-{3,}+|#++|//|=++|\*\*|`)[ \t]*+(?:#++|//)?+[ \t]*+(?:file:?[ \t]*+)?"
    r"([\w./-]{1,200}\.(?:ya?ml|json))[ \t]*+(?:=++|-++|\*\*|`)?+:?+[ \t]*+$",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n?", re.MULTILINE)
# What a reference names before its `#`. The text is a stranger's, so nothing is tried twice.
_REFERENCE = re.compile(
    r"[\"']?\$ref[\"']?\s{0,20}:\s{0,20}"
    r"(?:\"([^\"\n#]{1,500})|'([^'\n#]{1,500})|([^\s\"'#{}\[\],][^\s#]{0,499}))"
)
_HOLDERS = ("paths", "components", "definitions", "parameters", "responses")
_NOT_THERE = "is a part that is not there: add the parts together, or their address"


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
        if parameter and "in" not in parameter:
            parameter = {**parameter, "in": "query"}
        if parameter.get("in") != "querystring":
            return parameter if isinstance(parameter.get("name"), str) else {}
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

        A relative one is meant relative to the address that the document came from. A server of the
        developer's own machine gives way to another one.
        """
        servers = self.value.get("servers")
        servers = servers if isinstance(servers, list) else [servers]
        addresses = [self.address_of([server], came_from) for server in servers[:50]]
        remote = (text for text in addresses if text and not _LOCAL_SERVER.match(text))
        address = next(remote, "") or next(filter(None, addresses), "")
        return addresses[0] if addresses and _LOCAL_SERVER.match(came_from) else address

    def address_of(self, servers: Any, came_from: str = "") -> str:
        """Return the address of the first of some servers."""
        first = servers[0] if isinstance(servers, list) and servers else None
        server = _mapping(first) or {"url": first}
        url = _text(server.get("url"))
        for name, variable in _mapping(server.get("variables")).items():
            about = _mapping(variable)
            choices = about.get("enum") if isinstance(about.get("enum"), list) else ()
            value = _text(about.get("default")) or next(map(_text, choices or ()), "")
            url = url.replace(f"{{{name}}}", value or f"{{{name}}}")
        if "{" in url:
            return ""  # a variable without a value
        # What a query says would be said of every operation, and its path comes before it.
        url = (with_scheme(url) or url).partition("?")[0]
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
    """Parse the text of a document, which is JSON or YAML, with all its parts."""
    if len(text) > LIMITS.file or len(text.encode("utf-8", "surrogatepass")) > LIMITS.file:
        raise RefusedError(f"has more than {LIMITS.file:,} bytes")
    first = _PART_LINE.match(text)
    if first is None:
        value = _parse(text)
        return _Joined({"": value}, {}).value if other_documents(text) else value
    pieces = _PART_LINE.split(text)[1:]
    names, reasons, texts = pieces[::3], pieces[1::3], pieces[2::3]
    missing = {name: reason for name, reason in zip(names, reasons, strict=True) if reason}
    texts_by_name = dict(zip(names, texts, strict=True))
    values = {names[0]: _parse(texts[0])}
    for name, part in texts_by_name.items():
        if name in missing or name == names[0]:
            continue
        try:
            values[name] = _parse(part)
        except RefusedError as refused:
            missing[name] = refused.reason
    return _Joined(values, missing).value


def _parse(text: str) -> Any:
    if text.lstrip()[:1] in ("{", "["):
        return parse_json(text, max_depth=LIMITS.json_depth)
    return parse_yaml(text, limits=LIMITS)


def other_documents(text: str) -> list[str]:
    """Return the other documents that a text refers to, each once, without parsing it."""
    matches = (
        match.group(1) or match.group(2) or match.group(3) for match in _REFERENCE.finditer(text)
    )
    return list(dict.fromkeys(matches))


def collect_parts(text: str, name: str, part_of: Callable[[str], str]) -> str:
    """Return the text with all documents that it refers to, which `part_of` returns by their names.

    RefusedError of `part_of` says why one is not there. A document without others stays as it is.
    """
    parts: dict[str, str] = {}
    waiting = [(_place(name, document), 1) for document in other_documents(text)]
    if not waiting:
        return text
    size = len(text)
    for place, depth in waiting:
        if place in parts or place == name:
            continue
        try:
            if len(parts) >= MOST_PARTS or depth > _DEEPEST_PART:
                raise RefusedError(f"is more than {MOST_PARTS} parts, or {_DEEPEST_PART} deep")
            part = part_of(place)
            size += len(part)
            if size > LIMITS.file:
                raise RefusedError(f"makes more than {LIMITS.file:,} bytes of all parts")
        except RefusedError as refused:
            parts[place] = f"{_PART}{place} !{' '.join(refused.reason.split())[:300]}\n"
            continue
        parts[place] = f"{_PART}{place}\n{_PART_LINE.sub('', part)}\n"
        waiting += [(_place(place, document), depth + 1) for document in other_documents(part)]
        if len(waiting) > 100 * MOST_PARTS:
            break
    return f"{_PART}{name or 'openapi'}\n{text}\n{''.join(parts.values())}"


def join_pasted(text: str) -> str:
    """Return parts that were pasted together as one document; any other text as it is."""
    pieces = _PASTED_LINE.split(text)
    names, texts = (
        ["", *pieces[1::2]],
        [_FENCE_LINE.sub("", piece).strip() for piece in pieces[::2]],
    )
    by_name = {
        posixpath.normpath(name) if name else "": part
        for name, part in zip(names, texts, strict=True)
        if part
    }
    root = next((name for name, part in by_name.items() if looks_like_document(part)), None)
    files = {posixpath.basename(name) for name in by_name if name != root}
    # A comment such as `# pets.yaml` divides nothing unless the document refers to such a file.
    if root is None or files.isdisjoint(map(posixpath.basename, other_documents(by_name[root]))):
        return text
    return join_files(by_name, root)


def join_files(texts: Mapping[str, str], root: str) -> str:
    """Return the document of one of some files with the others that it refers to.

    A part is found by its path, or else by its name where only one file has it.
    """

    def read(place: str) -> str:
        same = [name for name in texts if posixpath.basename(name) == posixpath.basename(place)]
        if place not in texts and len(same) != 1:
            raise RefusedError(_NOT_THERE)
        return texts[place if place in texts else same[0]]

    return collect_parts(texts[root], root or "openapi", read)


def find_root(texts: Mapping[str, str]) -> str | None:
    """Return the file that is the document: by its name, else the one nearest to the top."""

    def rank(name: str) -> tuple[bool, int, str]:
        stem = posixpath.basename(name).partition(".")[0].lower()
        return stem not in ("openapi", "swagger", "index", "api"), name.count("/"), name

    return min(filter(lambda name: looks_like_document(texts[name]), texts), key=rank, default=None)


def _place(name: str, reference: str) -> str:
    """Return the name of a document that another one refers to: an address, or a path."""
    try:
        place = urljoin(name, unquote(reference) if "://" not in name else reference)
    except ValueError:
        return reference
    return place if "://" in place else posixpath.normpath(place)


class _Joined:
    """A document and its parts as one value: each reference to a part is one within it."""

    def __init__(self, values: Mapping[str, Any], missing: Mapping[str, str]) -> None:
        root, *parts = values
        self._places = {root: "#", **{name: f"#/x-parts/{at}" for at, name in enumerate(parts)}}
        self._missing = missing
        self._left_out: dict[str, str] = {}
        self.value = values[root]
        if not isinstance(self.value, dict):
            return
        self.value["x-parts"] = {str(at): values[name] for at, name in enumerate(parts)}
        # What a known place has from a part gets the name of that place wherever it is meant, and
        # stands there itself: later steps see the same as in one file.
        moved = list(self._moved(root))
        self._names = {reference: name for _, _, reference, name in moved}
        for part, value in values.items():
            self._join(part, {**value, "x-parts": None} if part == root else value)
        document = OpenApiDocument(self.value, "")
        for holder, key, reference, _ in moved:
            target = document.target(reference)
            holder[key] = target if target is not None else {}
        self.value["x-left-out"] = [[name, reason] for name, reason in self._left_out.items()]

    def _moved(self, root: str) -> Iterator[tuple[JSONObject, str, str, str]]:
        """Yield each place of the document that a part fills: where, the part, and its name."""
        holders: list[tuple[str, Any]] = [("#", self.value)]
        for pointer, holder in holders:
            for key, item in _mapping(holder).items():
                name = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
                if (pointer == "#" and key in _HOLDERS) or name.rpartition("/")[
                    0
                ] == "#/components":
                    holders.append((name, item))
                reference = item.get("$ref") if isinstance(item, dict) and len(item) == 1 else None
                if isinstance(reference, str) and key != "x-parts":
                    place = self._reference(root, reference)
                    if place.startswith("#/x-parts/"):
                        yield holder, key, place, name

    def _join(self, name: str, value: Any) -> None:
        waiting = [value]
        while waiting:
            inner = waiting.pop()
            if isinstance(inner, dict):
                reference = inner.get("$ref")
                if isinstance(reference, str):
                    place = self._reference(name, reference)
                    inner["$ref"] = self._names.get(place, place)
                waiting += inner.values()
            elif isinstance(inner, list):
                waiting += inner

    def _reference(self, name: str, reference: str) -> str:
        document, _, fragment = reference.partition("#")
        place = _place(name, document) if document else name
        start = self._places.get(place)
        if start is None:
            self._left_out[place] = self._missing.get(place, _NOT_THERE)
            return reference
        return f"{start}{fragment}"


_LOCAL_SERVER = re.compile(r"https?://(?:localhost|127\.|0\.0\.0\.0|\[::1\])", re.IGNORECASE)
# Clients' configurations have servers of the type `openapi`, whose value is no version.
_JSON_VERSION = re.compile(r'"(?:openapi|swagger)"\s{0,20}:\s{0,20}(?:"\s{0,3})?\d')
_YAML_VERSION = re.compile(r"^(?:openapi|swagger):", re.MULTILINE)


def looks_like_document(text: str) -> bool:
    """Return True if a text seems to be an OpenAPI document, judged by its first kilobytes."""
    start = text.lstrip()[:20_000]
    version = _JSON_VERSION if start[:1] == "{" else _YAML_VERSION
    signs = [dialect.SIGN for dialect in DIALECTS.values()]
    return version.search(start) is not None or any(sign in start for sign in signs)


def _convertible(value: JSONObject) -> ModuleType | None:
    """Return the other form of description that a document has, or None."""
    return next((form for form in DIALECTS.values() if form.recognises(value)), None)


def _dialect(value: JSONObject) -> str:
    version = str(value.get("openapi") or value.get("swagger") or "").lower().lstrip("v")
    versions = (("2.0", "2"), ("3.0", "3.0"), ("3.1", "3.1"), ("3.2", "3.2"))
    is_old = "swagger" in value
    for dialect, start in versions:
        if version.startswith(start) and is_old == (dialect == "2.0"):
            return dialect
    return "3.0" if version == "3" and not is_old else ""


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
    "collect_parts",
    "join_pasted",
    "looks_like_document",
    "other_documents",
    "parse_document",
    "read_document",
    "recognises",
]
