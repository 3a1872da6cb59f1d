"""A form made from a tool's JSON schema, and the arguments that a filled-in form means.

Schemas are untrusted: the form has a bounded depth and size, follows references inside the schema
only, and offers a field for JSON wherever it has no better one. The call itself checks arguments.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acl.platform.strict_json import StrictJSONError, parse_json, write_json
from catalog.formats.descriptors import JSONObject
from catalog.formats.usable_schema import parse_pointer

Control = Literal[
    "text", "long", "number", "yes_no", "choice", "several", "lines", "object", "list", "either",
    "json", "fixed",
]  # fmt: skip

MOST_DEPTH, MOST_FIELDS, MOST_ITEMS, MOST_OPTIONS = 5, 150, 20, 100
LONG_TEXT = 200  # texts that may be longer, or have lines, get a larger field
_INPUT_OF = {
    "date": "date", "date-time": "text", "time": "time", "email": "email", "uri": "url",
    "password": "password",
}  # fmt: skip
_LONG_NAMES = frozenset(
    {"body", "code", "content", "html", "markdown", "message", "query", "sql", "text"}
)
_MISSING = object()
# Without any of these an object has nothing to fill in.
_WITH_CONTENT = ("properties", "oneOf", "anyOf", "additionalProperties", "patternProperties")
_EMPTY: dict[Control, Any] = {"object": {}, "list": [], "lines": [], "several": []}
_NOT_JSON = "This is not JSON: {}."


@dataclass(slots=True)
class FormField:
    """A field, or a part with fields of its own. `path` names it in the submitted form."""

    path: str
    name: str
    control: Control
    number: int = 0  # unique in the form, for ids
    is_required: bool = False
    title: str = ""
    description: str = ""
    text: str = ""
    input_type: str = "text"
    step: str = ""
    hint: str = ""
    options: list[tuple[str, str, bool]] = field(default_factory=list)  # value, text, chosen
    parts: list["FormField"] = field(default_factory=list)
    problem: str = ""

    @property
    def count(self) -> int:
        """Return the number of parts, for the items of a list."""
        return len(self.parts)


class FormReader:
    """Reads one form: builds its fields from the schema and, if sent, the values from `data`.

    `arguments` prefill an unsent form. `problems` has the texts that are no value, by path.
    """

    def __init__(
        self,
        schema: JSONObject | None,
        data: Mapping[str, str] | None = None,
        lists: Callable[[str], list[str]] | None = None,
    ) -> None:
        self._root = schema or {}
        self._data = data
        self._lists: Callable[[str], list[str]] = lists or (lambda _name: [])
        self._fields = 0
        self.problems: dict[str, str] = {}

    def read(self, arguments: Any = None) -> tuple[FormField, JSONObject]:
        """Return the form as one object of fields, and the arguments that were sent."""
        schema = {"type": "object", **self._resolve(self._root)}
        start = arguments if isinstance(arguments, dict) else _MISSING
        if not any(schema.get(name) for name in _WITH_CONTENT) and self._root:
            return self._field("", "", "object", schema), {}
        form, value = self._node("", "", schema, start, 0)
        return form, value if isinstance(value, dict) else {}

    def _node(
        self, path: str, name: str, schema: Any, value: Any, depth: int
    ) -> tuple[FormField, Any]:
        """Return the field of a schema and the value that was sent for it, or _MISSING."""
        self._fields += 1
        schema = self._resolve(schema)
        if self._data is None and value is _MISSING and "default" in schema:
            value = schema["default"]
        if depth > MOST_DEPTH or self._fields > MOST_FIELDS:
            return self._json(path, name, schema, value)
        if "const" in schema:
            return self._fixed(path, name, schema)
        if isinstance(schema.get("enum"), list) and 0 < len(schema["enum"]) <= MOST_OPTIONS:
            return self._choice(path, name, schema, value)
        for key in ("oneOf", "anyOf"):
            if isinstance(schema.get(key), list):
                return self._either(path, name, schema, key, value, depth)
        return self._by_type(path, name, schema, value, depth)

    def _by_type(
        self, path: str, name: str, schema: JSONObject, value: Any, depth: int
    ) -> tuple[FormField, Any]:
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [name_of_type for name_of_type in kind if name_of_type != "null"]
            kind = kinds[0] if len(kinds) == 1 else None
        if kind == "string":
            return self._text(path, name, schema, value)
        if kind in ("integer", "number"):
            return self._number(path, name, schema, value, whole=kind == "integer")
        if kind == "boolean":
            return self._yes_no(path, name, schema, value)
        if kind == "object" and _has_only_properties(schema):
            return self._object(path, name, schema, value, depth)
        if kind == "array" and isinstance(schema.get("items"), dict):
            return self._array(path, name, schema, value, depth)
        return self._json(path, name, schema, value)

    def _object(
        self, path: str, name: str, schema: JSONObject, value: Any, depth: int
    ) -> tuple[FormField, Any]:
        form_field = self._field(path, name, "object", schema)
        properties = schema.get("properties")
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        sent: JSONObject = {}
        for key, inner in properties.items() if isinstance(properties, dict) else ():
            start = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
            part, got = self._node(_join(path, key), key, inner, start, depth + 1)
            part.is_required = key in needed
            if got is not _MISSING:
                sent[key] = got
            elif key in needed and part.control in _EMPTY and not part.problem:
                sent[key] = _EMPTY[part.control]
            form_field.parts.append(part)
        return form_field, sent or _MISSING

    def _array(
        self, path: str, name: str, schema: JSONObject, value: Any, depth: int
    ) -> tuple[FormField, Any]:
        items = self._resolve(schema["items"])
        enum, kind = items.get("enum"), items.get("type")
        if isinstance(enum, list) and 0 < len(enum) <= MOST_OPTIONS:
            return self._several(path, name, schema, enum, value)
        if kind in ("string", "integer", "number") and _fits_lines(value):
            return self._one_a_line(path, name, schema, items, value)
        if kind != "object" or not _has_only_properties(items):
            return self._json(path, name, schema, value)
        form_field, sent = self._field(path, name, "list", schema), []
        for at in range(self._item_count(path, value)):
            start = value[at] if isinstance(value, list) and at < len(value) else _MISSING
            part, got = self._node(_join(path, str(at)), str(at + 1), items, start, depth + 1)
            form_field.parts.append(part)
            sent.append({} if got is _MISSING else got)
        return form_field, sent or _MISSING

    def _item_count(self, path: str, value: Any) -> int:
        if self._data is None:
            return min(MOST_ITEMS, len(value)) if isinstance(value, list) else 0
        text = self._data.get(f"count:{path}", "0")
        count = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
        if self._data.get("add") == path:
            count += 1
        if self._data.get("remove") == path:
            count -= 1
        return max(0, min(MOST_ITEMS, count))

    def _either(
        self, path: str, name: str, schema: JSONObject, key: str, value: Any, depth: int
    ) -> tuple[FormField, Any]:
        """A choice between schemas. One besides null is that one, which may be left out."""
        shared = {part: schema[part] for part in schema if part not in ("oneOf", "anyOf")}
        branches = [
            branch for branch in map(self._resolve, schema[key]) if branch.get("type") != "null"
        ][:MOST_ITEMS]
        if len(branches) == 1:
            return self._node(path, name, {**branches[0], **shared}, value, depth)
        if not branches:
            return self._json(path, name, schema, value)
        form_field = self._field(path, name, "either", schema)
        chosen = self._chosen(path, branches, value)
        for at, branch in enumerate(branches):
            text = str(branch.get("title") or branch.get("type") or at + 1)[:60]
            form_field.options.append((str(at), text, at == chosen))
        merged = _merge(shared, branches[chosen])
        part, got = self._node(path, name, merged, value, depth + 1)
        part.title = part.description = ""
        form_field.parts.append(part)
        return form_field, got

    def _chosen(self, path: str, branches: list[JSONObject], value: Any) -> int:
        if self._data is not None:
            text = self._data.get(f"either:{path}", "")
            return next((at for at in range(len(branches)) if str(at) == text), 0)
        fitting = (at for at, branch in enumerate(branches) if _is_of_type(value, branch))
        return next(fitting, 0)

    def _text(self, path: str, name: str, schema: JSONObject, value: Any) -> tuple[FormField, Any]:
        declared, longest = schema.get("format"), schema.get("maxLength")
        text = self._sent(path, value if isinstance(value, str) else "")
        long = name.lower() in _LONG_NAMES or (isinstance(longest, int) and longest > LONG_TEXT)
        control: Control = "long" if (long and not declared) or "\n" in text else "text"
        form_field = self._field(path, name, control, schema)
        form_field.text, form_field.hint = text, str(declared or "")[:40]
        form_field.input_type = _INPUT_OF.get(str(declared), "text")
        return form_field, text.replace("\r\n", "\n") if text else _MISSING

    def _number(
        self, path: str, name: str, schema: JSONObject, value: Any, *, whole: bool
    ) -> tuple[FormField, Any]:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        form_field = self._field(path, name, "number", schema)
        form_field.text = self._sent(path, write_json(value) if is_number else "").strip()
        form_field.step = "1" if whole else "any"
        return form_field, self._read_number(
            path, form_field, whole=whole
        ) if form_field.text else _MISSING

    def _read_number(self, path: str, form_field: FormField, *, whole: bool) -> Any:
        try:
            value = parse_json(form_field.text)
        except StrictJSONError:
            value = None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        self._refuse(path, form_field, "Enter a whole number." if whole else "Enter a number.")
        return _MISSING

    def _yes_no(
        self, path: str, name: str, schema: JSONObject, value: Any
    ) -> tuple[FormField, Any]:
        form_field = self._field(path, name, "yes_no", schema)
        start = {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else ""
        form_field.text = self._sent(path, start)
        return form_field, {"true": True, "false": False}.get(form_field.text, _MISSING)

    def _choice(
        self, path: str, name: str, schema: JSONObject, value: Any
    ) -> tuple[FormField, Any]:
        form_field, values = self._field(path, name, "choice", schema), schema["enum"]
        start = next((str(at) for at, option in enumerate(values) if _equal(option, value)), "")
        form_field.text = self._sent(path, start)
        got: Any = _MISSING
        for at, option in enumerate(values):
            form_field.options.append((str(at), _shown(option), str(at) == form_field.text))
            got = option if str(at) == form_field.text else got
        return form_field, got

    def _several(
        self, path: str, name: str, schema: JSONObject, values: list[Any], value: Any
    ) -> tuple[FormField, Any]:
        form_field = self._field(path, name, "several", schema)
        start = value if isinstance(value, list) else []
        chosen = (
            {str(at) for at, option in enumerate(values) if any(_equal(option, v) for v in start)}
            if self._data is None
            else set(self._lists(f"arg:{path}"))
        )
        form_field.options = [
            (str(at), _shown(option), str(at) in chosen) for at, option in enumerate(values)
        ]
        got = [option for at, option in enumerate(values) if str(at) in chosen]
        return form_field, got or _MISSING

    def _one_a_line(
        self, path: str, name: str, schema: JSONObject, items: JSONObject, value: Any
    ) -> tuple[FormField, Any]:
        form_field = self._field(path, name, "lines", schema)
        start = (
            [item if isinstance(item, str) else write_json(item) for item in value or ()]
            if (isinstance(value, list))
            else []
        )
        form_field.text = self._sent(path, "\n".join(start))
        lines = [line.strip() for line in form_field.text.splitlines() if line.strip()]
        if items.get("type") == "string" or not lines:
            return form_field, lines or _MISSING
        numbers = []
        for line in lines:
            try:
                numbers.append(parse_json(line))
            except StrictJSONError:
                self._refuse(path, form_field, "Enter a number on each line.")
                return form_field, _MISSING
        return form_field, numbers

    def _fixed(self, path: str, name: str, schema: JSONObject) -> tuple[FormField, Any]:
        form_field = self._field(path, name, "fixed", schema)
        form_field.text = _shown(schema["const"])
        return form_field, schema["const"]

    def _json(self, path: str, name: str, schema: JSONObject, value: Any) -> tuple[FormField, Any]:
        form_field = self._field(path, name, "json", schema)
        form_field.text = self._sent(path, "" if value is _MISSING else write_pretty(value))
        if not form_field.text.strip():
            return form_field, _MISSING
        try:
            return form_field, parse_json(form_field.text)
        except StrictJSONError as problem:
            self._refuse(path, form_field, _NOT_JSON.format(problem))
            return form_field, _MISSING

    def _sent(self, path: str, start: str) -> str:
        return start if self._data is None else self._data.get(f"arg:{path}", "")

    def _refuse(self, path: str, form_field: FormField, reason: str) -> None:
        form_field.problem = self.problems[path] = reason

    def _field(self, path: str, name: str, control: Control, schema: JSONObject) -> FormField:
        title, description = schema.get("title"), schema.get("description")
        return FormField(
            path=path,
            name=name,
            control=control,
            number=self._fields,
            title=title[:120] if isinstance(title, str) else "",
            description=description[:600] if isinstance(description, str) else "",
        )

    def _resolve(self, schema: Any) -> JSONObject:
        """Follow references inside the schema, and merge what must hold together."""
        resolved = schema if isinstance(schema, dict) else {}
        for _ in range(MOST_DEPTH):
            reference = resolved.get("$ref")
            if not isinstance(reference, str):
                break
            resolved = _merge(
                {k: v for k, v in resolved.items() if k != "$ref"}, self._at(reference)
            )
        parts = resolved.get("allOf")
        if isinstance(parts, list) and len(parts) <= MOST_ITEMS:
            whole = {key: part for key, part in resolved.items() if key != "allOf"}
            for part in parts:
                inner = part if isinstance(part, dict) else {}
                if isinstance(inner.get("$ref"), str):
                    inner = _merge(
                        {k: v for k, v in inner.items() if k != "$ref"}, self._at(inner["$ref"])
                    )
                whole = _merge(whole, inner)
            return whole
        return resolved

    def _at(self, reference: str) -> JSONObject:
        target: Any = self._root
        if not reference.startswith("#"):
            return {}
        try:
            for step in parse_pointer(reference):
                target = target[int(step) if isinstance(target, list) else step]
        except (LookupError, TypeError, ValueError):
            return {}
        return target if isinstance(target, dict) else {}


def write_pretty(value: Any) -> str:
    """Write JSON to be read and edited by people."""
    return write_json(value, ensure_ascii=False, indent=2)


def path_of(argument: str) -> str:
    """Return the path of a field by the path in an error, `to.0.name`."""
    return "".join(f"/{step}" for step in argument.split(".")) if argument else ""


def mark_problem(form: FormField, argument: str, reason: str) -> bool:
    """Put the problem of an argument on its field; return False if the form has none of it."""
    path, best = path_of(argument), None
    waiting = list(form.parts)
    while waiting:
        form_field = waiting.pop()
        waiting.extend(form_field.parts)
        if path == form_field.path or path.startswith(f"{form_field.path}/"):
            best = form_field if best is None or len(form_field.path) >= len(best.path) else best
    if best is None:
        return False
    best.problem = reason
    return True


def _join(path: str, key: str) -> str:
    return f"{path}/{key}"


def _has_only_properties(schema: JSONObject) -> bool:
    """Return True if the object's fields are named: others need a field for JSON."""
    more = schema.get("additionalProperties")
    names = schema.get("properties")
    few = isinstance(names, dict) and 0 < len(names) <= MOST_FIELDS
    return few and not isinstance(more, dict) and "patternProperties" not in schema


def _fits_lines(value: Any) -> bool:
    texts = value if isinstance(value, list) else []
    return not any(
        isinstance(text, str) and (text != text.strip() or not text or len(text.splitlines()) > 1)
        for text in texts
    )


def _merge(first: JSONObject, second: JSONObject) -> JSONObject:
    """Return what both schemas say of an object together; the first one's own words win."""
    merged = {**second, **first}
    for key in ("properties",):
        if isinstance(first.get(key), dict) and isinstance(second.get(key), dict):
            merged[key] = {**first[key], **second[key]}
    if isinstance(first.get("required"), list) and isinstance(second.get("required"), list):
        merged["required"] = [*first["required"], *second["required"]]
    return merged


def _is_of_type(value: Any, schema: JSONObject) -> bool:
    types: dict[Any, Any] = {
        "string": str, "object": dict, "array": list, "boolean": bool, "integer": int,
        "number": int | float,
    }  # fmt: skip
    kind = types.get(schema.get("type") if isinstance(schema.get("type"), str) else None)
    if kind is None or not isinstance(value, kind):
        return False
    if isinstance(value, dict):
        names = schema.get("properties")
        return isinstance(names, dict) and all(
            "const" not in (names[key] if isinstance(names.get(key), dict) else {})
            or _equal(names[key]["const"], item)
            for key, item in value.items()
            if key in names
        )
    return not isinstance(value, bool) or kind is bool


def _equal(first: Any, second: Any) -> bool:
    return type(first) is type(second) and first == second


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else write_json(value, ensure_ascii=False)
    return text if len(text) <= LONG_TEXT else f"{text[: LONG_TEXT - 1]}…"
