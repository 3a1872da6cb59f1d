"""A call of an operation as an HTTP request, and its answer as the result of a tool. Pure."""

import base64
import binascii
import re
import secrets as random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from xml.sax.saxutils import escape, quoteattr

from acl.platform.strict_json import parse_json, write_json
from catalog.formats.descriptors import JSONObject
from catalog.formats.header_names import DeclaredBy, can_be_sent
from catalog.formats.loose_text import decode_text
from catalog.formats.openapi.api_operations import FIELDS, PAGES
from catalog.formats.openapi.api_security import Credentials, plain_place

_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,8192}")
_GAP = re.compile(r"\{([^{}]+)\}")
_NEXT = re.compile(r"<([^<>]{1,2000})>\s*;[^,]{0,200}\brel=\"?next\"?")
_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
_MOST_TEXT = 200_000


class ArgumentRefusedError(Exception):
    """An argument cannot be sent; `argument` names it."""

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}" if argument else reason)
        self.argument = argument


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request. Addresses, headers and bodies may hold secrets, so they never appear in a repr."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(default=b"", repr=False)
    fields: tuple[str, ...] = ()
    pages: int = 1


def build_request(
    base: str, sending: JSONObject, arguments: Mapping[str, Any], credentials: Credentials
) -> ApiRequest:
    """Build the request of a call, whose arguments fit the tool's schema.

    Raises ArgumentRefusedError for a value that would change which operation is called.
    """
    path, query = str(sending["path"]), list[tuple[str, str]]()
    headers, cookies = {"accept": "application/json, */*;q=0.5"}, dict(credentials.cookies)
    # The names of query parameters that others have: the declared ones, and the key's.
    declared = {
        parameter["name"]
        for parameter in sending.get("parameters") or ()
        if parameter["in"] == "query"
    }
    taken = declared | set(credentials.query)
    for parameter in sending.get("parameters") or ():
        argument = parameter["argument"]
        if argument not in arguments or arguments[argument] is None:
            continue
        value = arguments[argument]
        _refuse_reserved(argument, parameter, credentials)
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", _path_part(parameter, value))
        elif parameter["in"] == "query":
            query += _query_pairs(parameter, value, taken)
        elif parameter["in"] == "header":
            headers[parameter["name"]] = _header(argument, _joined(value, parameter))
        elif parameter["in"] == "cookie":
            cookies[parameter["name"]] = quote(_joined(value, parameter), safe="")
    if gap := _GAP.search(path):
        raise ArgumentRefusedError(gap.group(1), "It is missing.")
    headers |= {name: _header(name, text) for name, text in credentials.headers.items()}
    query += list(credentials.query.items())
    if cookies:
        pairs = "; ".join(f"{name}={text}" for name, text in cookies.items())
        headers["cookie"] = _header("cookie", pairs)
    content = _add_body(sending, arguments, headers, credentials.body)
    path = path.partition("#")[0]
    # Documents tell operations of one path apart by a query in it.
    joint = "&" if "?" in path else "?"
    url = base.rstrip("/") + path + (f"{joint}{urlencode(query)}" if query else "")
    fields, pages = arguments.get(FIELDS) or (), arguments.get(PAGES)
    return ApiRequest(
        str(sending["method"]),
        url,
        headers,
        content,
        tuple(map(str, fields)),
        pages if isinstance(pages, int) else 1,
    )


def next_page(request: ApiRequest, link: str, base: str) -> str:
    """Return the address of the next page, if it is one of the same operation; else ""."""
    match = _NEXT.search(link[:8_000])
    if match is None:
        return ""
    target, current = urlsplit(match.group(1)), urlsplit(request.url)
    # The secrets go along, so nothing but the query may differ.
    if (target.scheme, target.netloc, target.path) not in (
        (current.scheme, current.netloc, current.path),
        ("", "", current.path),
    ):
        return ""
    return (
        f"{current.scheme}://{current.netloc}{current.path}?{target.query}" if target.query else ""
    )


def shape_answer(
    status: int, kind: str, body: bytes, *, fields: tuple[str, ...] = ()
) -> tuple[list[JSONObject], Any, bool]:
    """Return content, structured content, and True for an error."""
    plain = kind.partition(";")[0].strip().lower()
    failed = status >= 300
    if not body:
        return [_text(f"HTTP {status}, without a body.")], None, failed
    if "json" in plain or (not plain and body[:1] in (b"{", b"[")):
        try:
            value = parse_json(text := decode_text(body, kind))
        except (ValueError, RecursionError):
            return _shape_text(status, text, failed=failed)
        return shape_json(status, value, fields=() if failed else fields)
    media, _, _ = plain.partition("/")
    if media in ("image", "audio") and not failed:
        data = base64.b64encode(body).decode()
        return [{"type": media, "data": data, "mimeType": plain[:100]}], None, False
    if plain.startswith("text/") or "xml" in plain or "yaml" in plain or "javascript" in plain:
        return _shape_text(status, decode_text(body, kind), failed=failed)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        words = f"HTTP {status}: {len(body):,} bytes of {plain[:100] or 'an unknown type'}."
        data = base64.b64encode(body).decode()
        file = {"uri": "attachment:answer", "mimeType": plain[:100], "blob": data}
        files = [] if failed else [{"type": "resource", "resource": file}]
        return [_text(words), *files], None, failed
    return _shape_text(status, text, failed=failed)


def shape_json(
    status: int, value: Any, *, fields: tuple[str, ...] = ()
) -> tuple[list[JSONObject], Any, bool]:
    """Return a JSON answer, with the wanted fields only."""
    failed = status >= 300
    if fields:
        value = pick_fields(value, fields)
    text = write_json(value)
    if failed:
        return [_text(f"HTTP {status}\n{text[:_MOST_TEXT]}")], None, True
    # MCP's structured content is an object; a list is only in the text.
    return [_text(text)], value if isinstance(value, dict) else None, False


def parse_answer(body: bytes, kind: str = "") -> Any:
    """Return a JSON answer as a value; another one as its text."""
    text = decode_text(body, kind)
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return text


def pick_fields(value: Any, fields: tuple[str, ...]) -> Any:
    """Return only these fields: of an object, or of each object in its lists.

    Where an object has none of them but one list of objects, they are meant of that list.
    """
    if isinstance(value, list):
        return [pick_fields(item, fields) for item in value]
    if not isinstance(value, dict):
        return value
    picked = dict(_pick(value, fields))
    if picked:
        return picked
    lists = {name: item for name, item in value.items() if isinstance(item, list) and item}
    if lists:
        return {name: pick_fields(item, fields) for name, item in lists.items()}
    return {}


def join_pages(pages: list[Any]) -> Any:
    """Return the lists of several pages as one; other answers as a list of pages."""
    if all(isinstance(page, list) for page in pages):
        return [item for page in pages for item in page]
    return pages


def _pick(value: JSONObject, fields: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    inner: dict[str, list[str]] = {}
    for name in fields:
        if name in value:
            yield name, value[name]
            continue
        first, dot, rest = name.partition(".")
        if dot and isinstance(value.get(first), (dict, list)):
            inner.setdefault(first, []).append(rest)
    for first, rests in inner.items():
        yield first, pick_fields(value[first], tuple(rests))


def _shape_text(status: int, text: str, *, failed: bool) -> tuple[list[JSONObject], Any, bool]:
    return [_text(f"HTTP {status}\n{text}" if failed else text)], None, failed


def _text(text: str) -> JSONObject:
    return {"type": "text", "text": text}


def _path_part(parameter: JSONObject, value: Any) -> str:
    """Quote a value for the path, in its style: `a`, `.a` (label) or `;name=a` (matrix).

    A step up or an empty value would name another operation.
    """
    argument, style = parameter["argument"], parameter.get("style")
    explode = parameter.get("explode") is True
    if isinstance(value, dict):
        pairs = [(str(key), _scalar(inner)) for key, inner in value.items()]
        parts = ["=".join(pair) for pair in pairs] if explode else [*chain.from_iterable(pairs)]
    else:
        parts = [_scalar(item) for item in value] if isinstance(value, list) else [_scalar(value)]
    plain = ",".join(parts)
    has_slashes = parameter.get("slashes") is True
    steps = plain.split("/") if has_slashes else [plain]
    if not plain or not {".", ".."}.isdisjoint(steps):
        raise ArgumentRefusedError(argument, "It cannot be empty, or lead to another address.")
    quoted = [
        quote(part, safe="=" if explode and isinstance(value, dict) else "") for part in parts
    ]
    if style == "label":
        return "." + ("." if explode else ",").join(quoted)
    if style == "matrix":
        name = quote(str(parameter["name"]), safe="")
        if explode:
            is_object = isinstance(value, dict)
            return "".join(f";{part}" if is_object else f";{name}={part}" for part in quoted)
        return f";{name}={','.join(quoted)}"
    if has_slashes:
        return quote(plain.lstrip("/"), safe="/")
    return quote(plain, safe="=" if explode and isinstance(value, dict) else "")


def _refuse_reserved(argument: str, parameter: JSONObject, credentials: Credentials) -> None:
    """Refuse a parameter that would change the request or its sign-in.

    Reading leaves these out; operations that earlier releases read may still have them.
    """
    place, name = parameter["in"], parameter["name"]
    secret = {
        *(plain_place("header", secret_name) for secret_name in credentials.headers),
        *(("query", secret_name) for secret_name in credentials.query),
        *(("cookie", secret_name) for secret_name in credentials.cookies),
    }
    is_header = place == "header"
    if plain_place(place, name) in secret or (
        is_header and not can_be_sent(name, DeclaredBy.ARGUMENT)
    ):
        raise ArgumentRefusedError(argument, "It would change the request itself, or its sign-in.")


def _query_pairs(parameter: JSONObject, value: Any, taken: set[str]) -> list[tuple[str, str]]:
    """Return the pairs of a parameter, under its own name or those of its declared fields."""
    pairs = list(_spell_query(parameter, value))
    allowed = {parameter["name"], *(set(parameter.get("fields") or ()) - taken)}
    for name, _ in pairs:
        within = name.startswith(f"{parameter['name']}[") and name not in taken
        if name not in allowed and not within:
            reason = f"The operation declares no field {name[:100]!r} of it that could be sent."
            raise ArgumentRefusedError(parameter["argument"], reason)
    return pairs


def _spell_query(parameter: JSONObject, value: Any) -> Iterable[tuple[str, str]]:
    name, style = parameter["name"], parameter.get("style") or "form"
    explode = parameter.get("explode", style == "form")
    if parameter.get("json"):
        return [(name, write_json(value))]
    if isinstance(value, dict):
        # Without declared fields, a spread object would invent parameters.
        if style == "deepObject" or (explode and "fields" not in parameter):
            return _bracketed(name, value)
        if explode:
            return [(str(key), _scalar(inner)) for key, inner in value.items()]
        flat = [part for key, inner in value.items() for part in (str(key), _scalar(inner))]
        return [(name, ",".join(flat))]
    if isinstance(value, list) and explode:
        return [(name, _scalar(item)) for item in value]
    return [(name, _joined(value, parameter))]


def _joined(value: Any, parameter: JSONObject) -> str:
    if isinstance(value, list):
        separator = _SEPARATORS.get(str(parameter.get("style")), ",")
        return separator.join(_scalar(item) for item in value)
    if isinstance(value, dict):
        if parameter.get("json"):
            return write_json(value)
        return ",".join(part for key, inner in value.items() for part in (str(key), _scalar(inner)))
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return write_json(value) if isinstance(value, (dict, list)) else str(value)


def _bracketed(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield `name[key]` pairs of nested values."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _bracketed(f"{name}[{key}]", inner)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            step = str(at) if isinstance(inner, dict) else ""
            yield from _bracketed(f"{name}[{step}]", inner)
    elif value is not None:
        yield name, _scalar(value)


def _header(name: str, text: str) -> str:
    if not _HEADER_VALUE.fullmatch(text):
        raise ArgumentRefusedError(name, "It has characters that a header cannot have.")
    return text


def _add_body(
    sending: JSONObject,
    arguments: Mapping[str, Any],
    headers: dict[str, str],
    secret: Mapping[str, str],
) -> bytes:
    """Return the body's bytes, and set its type. `secret` are credentials that belong in it."""
    body = sending.get("body")
    if not isinstance(body, dict):
        return b""
    if "fields" in body:
        others = {FIELDS, PAGES} | {
            parameter["argument"] for parameter in sending.get("parameters") or ()
        }
        names = dict(body["fields"])
        if body.get("open"):  # it takes fields that the document does not name
            names = {argument: argument for argument in arguments if argument not in others} | names
        value: Any = {
            name: arguments[argument] for argument, name in names.items() if argument in arguments
        } | dict(secret)
        if not value and body["as"] != "json":
            return b""
    elif body["argument"] in arguments:
        value = arguments[body["argument"]]
        value = {**value, **secret} if isinstance(value, dict) else value
    else:
        return b""
    headers["content-type"] = body["type"]
    if body["as"] == "json":
        return write_json(value).encode()
    if body["as"] == "form":
        return urlencode(list(_form_pairs(value, body.get("styles") or {}))).encode()
    if body["as"] == "multipart":
        content, headers["content-type"] = _multipart(
            value, body.get("binary") or (), body.get("styles") or {}
        )
        return content
    if body["as"] == "bytes":
        return _decoded(body.get("argument", "body"), value)
    if "xml" in body and not isinstance(value, str):
        return f'<?xml version="1.0" encoding="UTF-8"?>{_xml(body["xml"], value)}'.encode()
    return (value if isinstance(value, str) else write_json(value)).encode()


def _form_pairs(value: Any, styles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a form as the document says: a list is its name once for each value.

    Brackets are for `deepObject`; an object without a style is JSON, as the specification has it.
    """
    for name, inner in value.items() if isinstance(value, dict) else ():
        way = styles.get(name) or {}
        is_styled = "style" in way or "explode" in way
        if not isinstance(inner, (dict, list)):
            if inner is not None:
                yield str(name), _scalar(inner)
        elif way.get("style") == "deepObject":
            yield from _bracketed(str(name), inner)
        elif "json" in str(way.get("contentType")) or (isinstance(inner, dict) and not is_styled):
            yield str(name), write_json(inner)
        else:
            style = way.get("style") or "form"
            explode = way.get("explode", style == "form")
            parameter = {"name": str(name), "style": style, "explode": explode, "fields": ()}
            yield from _spell_query(parameter, inner)


def _xml(shape: Any, value: Any) -> str:
    """Return a value as an element: names, attributes and wrappers as the document says them."""
    shape = shape if isinstance(shape, dict) else {}
    name = str(shape.get("name") or "item")
    if isinstance(value, list):
        items = "".join(_xml(shape.get("items") or {"name": name}, item) for item in value)
        return f"<{name}>{items}</{name}>" if shape.get("wrapped") else items
    if not isinstance(value, dict):
        return f"<{name}>{escape(_scalar(value))}</{name}>"
    fields = shape.get("fields") or {}
    attributes = inner = ""
    for key, part in value.items():
        of_part = fields.get(key) or {"name": key}
        if part is None:
            continue
        if of_part.get("attribute"):
            attributes += f" {of_part['name']}={quoteattr(_scalar(part))}"
        else:
            inner += _xml(of_part, part)
    return f"<{name}{attributes}>{inner}</{name}>"


def _multipart(value: Any, binary: Any, styles: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return a form with files, and its type with the boundary.

    A part has the type that the document says; without one, an object is JSON.
    """
    boundary = random.token_hex(16)
    parts: list[bytes] = []
    for name, field_value in value.items() if isinstance(value, dict) else ():
        kind = str((styles.get(name) or {}).get("contentType") or "").partition(",")[0]
        is_whole = "json" in kind  # a list, too
        for item in (
            field_value if isinstance(field_value, list) and not is_whole else [field_value]
        ):
            is_file = name in binary
            default = "application/json" if isinstance(item, (dict, list)) else ""
            type_line = f"\r\nContent-Type: {part_kind}" if (part_kind := kind or default) else ""
            text = _decoded(name, item) if is_file else _scalar(item).encode()
            file = f'; filename="{quote(name, safe="")}"' if is_file else ""
            head = f'Content-Disposition: form-data; name="{quote(name, safe="[]")}"{file}'
            parts.append(f"--{boundary}\r\n{head}{type_line}\r\n\r\n".encode() + text + b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def _decoded(argument: str, value: Any) -> bytes:
    try:
        return base64.b64decode(str(value), validate=True)
    except (binascii.Error, ValueError):
        raise ArgumentRefusedError(argument, "It must be in base64.") from None
