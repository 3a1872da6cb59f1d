"""Operations of a document as tools: a name, a description, one flat schema, and how to send it.

`openapi-pydantic` reads the grammar of an operation, its parameters and its body; one that it
refuses is reported and left out, and the others load. Schemas are read by `api_schemas`, because a
single odd keyword must not cost an operation.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.formats.files import RefusedError
from catalog.formats.header_names import DeclaredBy, can_be_sent, header_key
from catalog.formats.openapi._api_schemas import SchemaReader, plain_text
from catalog.formats.openapi.api_credentials import parameters_of
from catalog.formats.openapi.api_document import METHODS, MOST_OPERATIONS, OpenApiDocument
from catalog.formats.openapi.api_names import (
    LONGEST_ACTION,
    LONGEST_ARGUMENT,
    action_for,
    argument_for,
    unique_name,
)
from catalog.formats.openapi.api_security import (
    UNDECLARED,
    add_credentials,
    credential_names,
    declared_schemes,
    plain_place,
    read_schemes,
    read_scopes,
    read_security,
    usable_security,
)

HTTP = "http"  # the key of a tool's annotations with the way to send it
FIELDS, PAGES = "answer_fields", "answer_pages"
MOST_PAGES = 10
_LONGEST_SUMMARY, _LONGEST_DESCRIPTION = 200, 1_000
_MOST_PARAMETERS = 100
# OpenAPI says the first three are ignored; all are written by Pegboard for every request.
_NOT_TOLD = frozenset({"accept", "content-type", "authorization", "host", "cookie", "user-agent"})
_COOKIE_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_MEDIA_TYPE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,98}[\x21-\x7e])?")
# A gap of a router or a template: `{id:[0-9]+}`, `{+name}`.
_GAP = re.compile(r"\{[+#./;]?([\w.-]{1,100})(?::[^{}]{0,200}|\*)?\}")
_LINES_OF_JSON = re.compile(r"ndjson|jsonl|json-seq|json-?lines")
_TEXTS = re.compile(r"xml|yaml|graphql|javascript|sql")
_JSON, _FORM, _MULTIPART = "json", "form", "multipart"
_WORDS_OF_PAGES = frozenset(
    {"page", "per_page", "page_size", "pagesize", "limit", "offset", "cursor"}
)


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """An operation: as it is chosen by, and the definition of its tool in the form of MCP."""

    name: str
    method: str
    path: str
    summary: str
    tags: tuple[str, ...]
    tool: JSONObject = field(repr=False)


@dataclass(slots=True)
class ReadOperations:
    """The operations of a document, in its order, and the reasons why others are left out."""

    operations: list[ApiOperation] = field(default_factory=list)
    defects: list[tuple[str, str]] = field(default_factory=list)


def read_operations(document: OpenApiDocument, *, address: str) -> ReadOperations:
    """Read every operation of the API at this address."""
    schemes, declared = read_schemes(document), declared_schemes(document)
    shared = read_security(document.value.get("security"))
    if UNDECLARED in schemes and not shared:
        shared = [[UNDECLARED], []]
    result, names = ReadOperations(), set[str]()
    for path, method, item, raw in _walk(document, result):
        at = f"{method.upper()} {path}"
        try:
            reader = _OperationReader(document, path, method, item, raw)
            reader.check_address(address)
            operation_security = read_security(raw.get("security"))
            security = usable_security(
                (shared if operation_security is None else operation_security) or [], schemes
            )
            if operation_security or (operation_security is None and shared):
                wanted_schemes = shared if operation_security is None else operation_security
                reader.note_undeclared(wanted_schemes or [], declared)
                unsendable = sorted(
                    {name for names in wanted_schemes or [] for name in names} - schemes.keys()
                )
                reader.refuse_unless(
                    bool(security) or not reader.needs_declared,
                    f"needs a sign-in that Pegboard cannot send: {', '.join(unsendable)[:100]}",
                )
            if not security and not reader.needs_declared and UNDECLARED in schemes:
                security = [[UNDECLARED], []]
            if credentials := reader.credentials(schemes):
                security = add_credentials(security, credentials, schemes)
            scopes = read_scopes(raw.get("security", document.value.get("security")), schemes)
            reader.reserve(credential_names(security, schemes))
            operation = reader.read(names, security, scopes)
        except RefusedError as refused:
            result.defects.append((at, refused.reason))
            continue
        names.add(operation.name)
        result.operations.append(operation)
        result.defects += [(at, reason) for reason in reader.left_out]
    return result


def _walk(
    document: OpenApiDocument, result: ReadOperations
) -> Iterator[tuple[str, str, JSONObject, JSONObject]]:
    """Yield path, method, path item and operation, up to the limit."""
    count = 0
    for path, item in document.value["paths"].items():
        plain = document.resolve(item)
        if not isinstance(plain, dict) or str(path).lower().startswith("x-"):
            continue
        path = f"/{str(path).lstrip('/')}"
        # Keys are methods in any case.
        more = plain.get("additionalOperations")  # of version 3.2
        by_name = {str(key).lower(): value for key, value in plain.items()}
        methods = {**{method: by_name.get(method) for method in METHODS}, **_mapping(more)}
        for method, operation in methods.items():
            raw = document.resolve(operation)
            if not isinstance(raw, dict) or method.lower() in ("options", "trace", "connect"):
                continue
            count += 1
            if count > MOST_OPERATIONS:
                reason = f"has more than {MOST_OPERATIONS:,} operations; the rest is left out"
                result.defects.append(("paths", reason))
                return
            yield path, method, plain, raw


class _OperationReader:
    """Reads one operation."""

    def __init__(
        self, document: OpenApiDocument, path: str, method: str, item: JSONObject, raw: JSONObject
    ) -> None:
        self._document = document
        self._path, self._method = _GAP.sub(r"{\1}", path), method
        # In `{+name}` a slash is one (RFC 6570).
        self._with_slashes = set(re.findall(r"\{\+([\w.-]{1,100})\}", path))
        self._item, self._raw = item, raw
        self._schemas = SchemaReader(document)
        self._properties: dict[str, JSONObject] = {}
        self._required: list[str] = []
        self._sent: list[JSONObject] = []
        self._body: JSONObject | None = None
        self._reserved: set[tuple[str, str]] = set()
        self._secret_places: set[tuple[str, str]] = set()
        self.needs_declared = True
        self.left_out: list[str] = []

    def reserve(self, names: set[tuple[str, str]]) -> None:
        """Keep names of parameters for the sign-in: an argument must not overrule a credential."""
        self._reserved = names

    def credentials(self, schemes: Mapping[str, JSONObject]) -> dict[str, bool]:
        """Return the credentials among its parameters, by scheme, and whether each is required."""
        by_place = {
            plain_place(scheme["as"], scheme["name"]): name
            for name, scheme in schemes.items()
            if "name" in scheme
        }
        credentials: dict[str, bool] = {}
        for (where, name), parameter in parameters_of(self._document, self._item, self._raw):
            if scheme := by_place.get(plain_place(where, name)):
                credentials[scheme] = parameter.get("required") is True
                self._secret_places.add(plain_place(where, name))
        return credentials

    def note_undeclared(self, alternatives: list[list[str]], declared: set[str]) -> None:
        """Note schemes that the document names and does not declare; the others are used."""
        names = {name for alternative in alternatives for name in alternative}
        self.needs_declared = bool(names & declared) or not names
        for name in sorted(names - declared - {UNDECLARED}):
            self.left_out.append(f"names the sign-in {name[:100]!r}, which is not declared")

    def check_address(self, address: str) -> None:
        """Refuse an operation that another server answers: nobody has agreed to that one."""
        servers = self._raw.get("servers") or self._item.get("servers")
        server_address = self._document.address_of(servers, f"{address}/") if servers else ""
        same = not servers or urlsplit(server_address)[:2] == urlsplit(address)[:2]
        self.refuse_unless(same, "is answered by another server")
        self.refuse_unless(
            not servers or server_address == address, "is answered at another address"
        )

    def refuse_unless(self, holds: bool, reason: str) -> None:
        """Raise RefusedError unless it holds."""
        if not holds:
            raise RefusedError(reason)

    def read(
        self, taken: set[str], security: list[list[str]], scopes: dict[str, list[str]]
    ) -> ApiOperation:
        """Return the operation, under a name that is not taken."""
        parameters, body = self._check_grammar()
        for parameter in parameters:
            self._read_parameter(parameter)
        self._fill_path()
        if body is not None:
            self._read_body(body)
        answer = self._answer_fields()
        self._add_options(answer)
        text = self._raw.get("operationId")
        summary = plain_text(self._raw.get("summary"), _LONGEST_SUMMARY).rstrip(".")
        name = action_for(self._method, self._path, text if isinstance(text, str) else "", summary)
        name = unique_name(name, taken, LONGEST_ACTION, self._method)
        tags = [str(tag)[:60] for tag in self._raw.get("tags") or () if isinstance(tag, str)]
        return ApiOperation(
            name=name,
            method=self._method.upper(),
            path=self._path,
            summary=summary or plain_text(self._raw.get("description"), _LONGEST_SUMMARY),
            tags=tuple(dict.fromkeys(tags))[:20],
            tool=self._tool(name, summary, security, scopes),
        )

    def _check_grammar(self) -> tuple[list[JSONObject], JSONObject | None]:
        """Return parameters and body as plain values, once the parser has accepted them."""
        resolve = self._document.resolve
        shared, operation_parameters = (
            [plain for item in listed if (plain := self._document.parameter(item))]
            for listed in (_list(self._item.get("parameters")), _list(self._raw.get("parameters")))
        )
        for item in (*_list(self._item.get("parameters")), *_list(self._raw.get("parameters"))):
            if not self._document.parameter(item):
                reference = str(_mapping(item).get("$ref"))[:100]
                self.left_out.append(f"leaves out a parameter that is not there: {reference}")
        by_name = {
            (str(parameter.get("in")), str(parameter.get("name"))): parameter
            for parameter in (*shared, *operation_parameters)
        }
        if len(by_name) > _MOST_PARAMETERS:
            words = f"has {len(by_name):,} parameters; only the first {_MOST_PARAMETERS} are read"
            self.left_out.append(words)
        parameters = list(by_name.values())[:_MOST_PARAMETERS]
        body = resolve(self._raw.get("requestBody"))
        body = body if isinstance(body, dict) else None
        check_operation(
            {
                "operationId": self._raw.get("operationId"),
                "parameters": [_without_schemas(parameter) for parameter in parameters],
                "requestBody": {"content": {str(kind): {} for kind in body.get("content") or ()}}
                if body
                else None,
                "responses": {},
            }
        )
        return parameters, body

    def _read_parameter(self, parameter: JSONObject) -> None:
        place, name = str(parameter["in"]), str(parameter["name"])
        if plain_place(place, name) in self._secret_places:
            return
        if reason := self._why_not_sent(place, name):
            if place != "header" or header_key(name) not in _NOT_TOLD:
                self.left_out.append(f"leaves out the {place} parameter {name[:100]!r}: {reason}")
            return
        content = parameter.get("content")
        media = next(iter(content.values()), None) if isinstance(content, dict) else None
        schema = self._schemas.read(parameter.get("schema") or _mapping(media).get("schema"))
        described = plain_text(parameter.get("description"), 300)
        if described:
            schema = {**schema, "description": described}
        argument = self._add(name, schema, place, required=parameter.get("required") is True)
        sent: JSONObject = {"argument": argument, "in": place, "name": name}
        if content:
            sent["json"] = True
        for key in ("style", "explode"):
            if parameter.get(key) is not None:
                sent[key] = parameter[key]
        if place == "query" and is_spread(sent) and isinstance(schema.get("properties"), dict):
            fields = schema["properties"]
            sent["fields"] = [field for field in fields if ("query", field) not in self._reserved]
        if place == "path" and name in self._with_slashes:
            sent["slashes"] = True
        self._sent.append(sent)

    def _why_not_sent(self, place: str, name: str) -> str:
        """Return why a parameter is left out, or "": it may not change what the request is."""
        if place == "header" and not can_be_sent(name, DeclaredBy.ARGUMENT):
            return "such a header changes the request itself, or cannot be written"
        if place == "cookie" and not _COOKIE_NAME.fullmatch(name):
            return "a cookie cannot have this name"
        if plain_place(place, name) in self._reserved:
            return "the sign-in is sent under this name"
        return ""

    def _fill_path(self) -> None:
        """Add an argument for each gap of the path that the document does not declare."""
        filled = {parameter["name"] for parameter in self._sent if parameter["in"] == "path"}
        for gap in dict.fromkeys(gap.partition("}")[0] for gap in self._path.split("{")[1:]):
            if gap not in filled:
                self._read_parameter({"in": "path", "name": gap, "schema": {"type": "string"}})
                self.left_out.append(f"does not declare its path parameter {gap[:100]!r}")
        for parameter in self._sent:
            # A path without this part would be another operation.
            if parameter["in"] == "path" and parameter["argument"] not in self._required:
                self._required.append(parameter["argument"])

    def _read_body(self, body: JSONObject) -> None:
        content = body.get("content")
        kind, media = _choose_content(content if isinstance(content, dict) else {})
        if not kind:
            return
        raw_schema = _mapping(media).get("schema")
        schema = self._schemas.read(raw_schema)
        self.refuse_unless(_MEDIA_TYPE.fullmatch(kind) is not None, "has a body of no known type")
        encoding = _encoding_of(kind, schema)
        required = body.get("required") is True
        properties = schema.get("properties")
        sent: JSONObject = {"as": encoding, "type": kind}
        if "*" in kind:  # a range is no type
            sent["type"] = "application/octet-stream"
        is_open = schema.get("additionalProperties") is True
        if isinstance(properties, dict) and (is_open or "additionalProperties" not in schema):
            if is_open:
                sent["open"] = True
            needed = schema.get("required", [])
            sent["fields"] = {
                self._add(name, field_schema, "body", required=required and name in needed): name
                for name, field_schema in properties.items()
                if ("body", name) not in self._secret_places
            }
            if binary := [name for name, inner in properties.items() if is_binary(inner)]:
                sent["binary"] = binary
            if encoding != _JSON and (styles := self._styles(media, properties)):
                sent["styles"] = styles
        else:
            described = plain_text(body.get("description"), 300) or "The body of the request."
            if encoding == "bytes":
                schema, described = {"type": "string"}, f"{described} In base64."
            schema = {"description": described, **schema}
            sent["argument"] = self._add("body", schema, "body", required=required)
        if "xml" in kind:
            sent["xml"] = self._schemas.read_xml(raw_schema)
        self._body = sent

    def _styles(self, media: Any, properties: JSONObject) -> JSONObject:
        """Return how the document says that fields of a form are written."""
        encoding = _mapping(_mapping(media).get("encoding"))
        keys = ("style", "explode", "contentType")
        return {
            name: {key: encoding[name][key] for key in keys if key in encoding[name]}
            for name in properties
            if isinstance(encoding.get(name), dict)
        }

    def _add(self, name: str, schema: JSONObject, place: str, *, required: bool) -> str:
        """Add an argument, under a name that says its place if another one has the plain name."""
        plain = argument_for(name)
        taken = {*self._properties, FIELDS, PAGES}
        argument = unique_name(plain, taken, LONGEST_ARGUMENT, place)
        if is_binary(schema):
            encoding_note = " Each in base64." if schema.get("type") == "array" else " In base64."
            described = f"{schema.get('description', '')}{encoding_note}".strip()
            schema = {**schema, "description": described}
        self._properties[argument] = schema
        if required:
            self._required.append(argument)
        return argument

    def _answer_fields(self) -> list[str] | None:
        """Return the first names in a JSON answer; None if the answer is no JSON."""
        responses = self._raw.get("responses")
        for status, response in responses.items() if isinstance(responses, dict) else ():
            plain = self._document.resolve(response)
            if not str(status).startswith("2") or not isinstance(plain, dict):
                continue
            for kind, media in _mapping(plain.get("content")).items():
                if "json" in str(kind):
                    return self._first_names(_mapping(media).get("schema"))
        return None

    def _first_names(self, schema: Any) -> list[str]:
        shallow = SchemaReader(self._document, writing=False).read_shallow(schema)
        items = shallow.get("items")
        inner = items if isinstance(items, dict) else shallow
        return [str(name) for name in _mapping(inner.get("properties"))][:12]

    def _add_options(self, answer: list[str] | None) -> None:
        """Add the arguments that Pegboard itself answers: which fields, and how many pages."""
        if answer is None:
            return
        example = f" such as {', '.join(answer)}" if answer else ""
        self._properties[FIELDS] = {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": 50,
            "description": f"Return only these fields of the answer,{example}; a.b for inner ones."
            if example
            else "Return only these fields of the answer; a.b for inner ones.",
        }
        names = {
            str(parameter["name"]).lower() for parameter in self._sent if parameter["in"] == "query"
        }
        if self._method == "get" and names & _WORDS_OF_PAGES:
            self._properties[PAGES] = {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_PAGES,
                "description": "Follow the links to so many pages of the answer. One by default.",
            }

    def _tool(
        self, name: str, summary: str, security: list[list[str]], scopes: dict[str, list[str]]
    ) -> JSONObject:
        schema: JSONObject = {"type": "object", "properties": self._properties}
        if self._required:
            schema["required"] = list(dict.fromkeys(self._required))
        # A misspelt argument would be left out in silence.
        schema["additionalProperties"] = bool(self._body and self._body.get("open"))
        sending: JSONObject = {"method": self._method.upper(), "path": self._path}
        if self._sent:
            sending["parameters"] = self._sent
        if self._body:
            sending["body"] = self._body
        if security:
            sending["security"] = security
        if scopes:
            sending["scopes"] = scopes
        text = plain_text(self._raw.get("description"), _LONGEST_DESCRIPTION)
        repeats = text.rstrip(".").casefold() == summary.casefold()
        parts = [f"{summary}." if summary else "", "" if repeats else text]
        if self._raw.get("deprecated") is True:
            parts.append("Deprecated.")
        description = "\n\n".join(part for part in parts if part)
        tool: JSONObject = {
            "name": name,
            "description": description or f"{self._method.upper()} {self._path}",
            "inputSchema": schema,
            "annotations": {HTTP: sending},
        }
        if summary:
            tool["title"] = summary
        return tool


def is_spread(sent: JSONObject) -> bool:
    """Return True for a parameter whose object is sent as one parameter for each of its fields."""
    style = sent.get("style") or "form"
    return style == "form" and sent.get("explode", True) is not False and not sent.get("json")


def check_operation(operation: JSONObject) -> None:
    """Raise RefusedError unless the operation's grammar is right."""
    from pydantic import ValidationError

    try:
        _grammar().model_validate(operation)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise RefusedError(f"is not valid OpenAPI: {at[:100]}: {first['msg'][:100]}") from None


@cache
def _grammar() -> Any:
    # Imported on first use: its models take longer to build than most processes need to start.
    from openapi_pydantic.v3.v3_1 import Operation

    return Operation


def _without_schemas(parameter: JSONObject) -> JSONObject:
    left_out = ("schema", "content", "example", "examples")
    plain = {key: value for key, value in parameter.items() if key not in left_out}
    return {**plain, "schema": {}}


def _choose_content(content: JSONObject) -> tuple[str, Any]:
    """Return the kind of body that is easiest to write: JSON, a form, text, and then the first.

    Of two forms the one with files can carry them.
    """
    kinds = {str(kind): media for kind, media in content.items()}
    has_files = '"binary"' in canonical_json(kinds.get("multipart/form-data"))
    forms = ("x-www-form-urlencoded", "multipart")
    order = ("application/json", "+json", "json", *(forms[::-1] if has_files else forms), "text/")
    for fragment in order:
        for kind, media in kinds.items():
            if fragment in kind.partition(";")[0].lower():
                return kind[:100], media
    if "*/*" in kinds:
        return "application/json", kinds["*/*"]
    return next(((kind[:100], media) for kind, media in kinds.items()), ("", None))


def _encoding_of(kind: str, schema: JSONObject) -> str:
    plain = kind.partition(";")[0].strip().lower()
    if _LINES_OF_JSON.search(plain):
        return "text"
    if "json" in plain:
        return _JSON
    if plain == "application/x-www-form-urlencoded":
        return _FORM
    if plain.startswith("multipart/"):
        return _MULTIPART
    # A language of its own, such as GraphQL.
    is_text = schema.get("type") == "string" and not is_binary(schema) and "octet" not in plain
    is_text = is_text and not plain.startswith(("image/", "audio/", "video/"))
    return "text" if is_text or plain.startswith("text/") or _TEXTS.search(plain) else "bytes"


def is_binary(schema: JSONObject) -> bool:
    """Return True for a file, or a list of files."""
    items = schema.get("items") if schema.get("type") == "array" else None
    return schema.get("format") == "binary" or _mapping(items).get("format") == "binary"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> JSONObject:
    return value if isinstance(value, dict) else {}
