"""Documents of version 2.0 in the form of version 3: servers, bodies, forms and security."""

from typing import Any

from catalog.formats.descriptors import JSONObject

_METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_SCHEMES = ("https", "http")
_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
# The fields of a parameter that version 3 has in its schema.
_OF_SCHEMA = (
    *("type", "format", "items", "default", "enum", "pattern", "minimum", "maximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf"),
)
_EXPLODED = {"multi": True, "csv": False, "ssv": False, "tsv": False, "pipes": False}
_FLOWS = {
    "implicit": "implicit",
    "password": "password",
    "application": "clientCredentials",
    "accessCode": "authorizationCode",
}


def convert_swagger(value: JSONObject) -> JSONObject:
    """Return the document with the places of version 3; references to schemas stay as they are."""
    consumes = _texts(value.get("consumes")) or ["application/json"]
    paths = {
        str(path): _convert_path(item, value, consumes)
        for path, item in value["paths"].items()
        if isinstance(item, dict)
    }
    schemes = value.get("securityDefinitions")
    components = {"securitySchemes": _convert_schemes(schemes)}
    return {
        "openapi": "3.0.0",
        **{key: value[key] for key in _KEPT if key in value},
        "servers": _servers(value),
        "paths": paths,
        "components": components,
    }


_KEPT = ("info", "tags", "security", "definitions", "parameters", "responses")


def _servers(value: JSONObject) -> list[JSONObject]:
    base = str(value.get("basePath") or "/")
    host = value.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base}]
    offered = _texts(value.get("schemes"))
    scheme = next((one for one in _SCHEMES if one in offered), "https")
    return [{"url": f"{scheme}://{host}{base}"}]


def _convert_path(item: JSONObject, whole: JSONObject, consumes: list[str]) -> JSONObject:
    shared = _resolved(item.get("parameters"), whole)
    found: JSONObject = {}
    for method in _METHODS:
        operation = item.get(method)
        if isinstance(operation, dict):
            found[method] = _convert_operation(operation, shared, whole, consumes)
    return found


def _convert_operation(
    operation: JSONObject, shared: list[JSONObject], whole: JSONObject, consumes: list[str]
) -> JSONObject:
    own = _resolved(operation.get("parameters"), whole)
    named = {(one.get("in"), one.get("name")): one for one in (*shared, *own)}
    parameters, form = [], []
    body: JSONObject | None = None
    for one in named.values():
        if one.get("in") == "body":
            body = one
        elif one.get("in") == "formData":
            form.append(one)
        else:
            parameters.append(_convert_parameter(one))
    kinds = _texts(operation.get("consumes")) or consumes
    converted = {key: operation[key] for key in _OPERATION if key in operation}
    converted["parameters"] = parameters
    if body is not None:
        content = {"schema": body.get("schema") or {}}
        converted["requestBody"] = {
            "required": body.get("required") is True,
            "description": body.get("description") or "",
            "content": dict.fromkeys(kinds, content),
        }
    elif form:
        converted["requestBody"] = _form_body(form, kinds)
    converted["responses"] = _convert_responses(operation.get("responses"), operation, whole)
    return converted


_PARAMETER = ("name", "in", "description", "required")
_OPERATION = ("operationId", "summary", "description", "tags", "deprecated", "security")


def _convert_parameter(one: JSONObject) -> JSONObject:
    kept: JSONObject = {key: one[key] for key in _PARAMETER if key in one}
    kept["schema"] = _schema_of(one)
    if one.get("type") == "array" and one.get("in") in ("query", "formData"):
        kept["explode"] = _EXPLODED.get(str(one.get("collectionFormat") or "csv"), False)
    return kept


def _schema_of(one: JSONObject) -> JSONObject:
    schema = {key: one[key] for key in _OF_SCHEMA if key in one}
    if schema.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    return schema


def _form_body(form: list[JSONObject], kinds: list[str]) -> JSONObject:
    properties = {
        str(one.get("name")): {**_schema_of(one), "description": one.get("description") or ""}
        for one in form
    }
    required = [str(one.get("name")) for one in form if one.get("required") is True]
    has_file = any(one.get("type") == "file" for one in form)
    multipart = has_file or (_MULTIPART in kinds and _FORM not in kinds)
    schema = {"type": "object", "properties": properties, "required": required}
    content = {_MULTIPART if multipart else _FORM: {"schema": schema}}
    return {"required": bool(required), "content": content}


def _convert_responses(responses: Any, operation: JSONObject, whole: JSONObject) -> JSONObject:
    produces = _texts(operation.get("produces")) or _texts(whole.get("produces"))
    kind = next((one for one in produces if "json" in one), "application/json")
    found: JSONObject = {}
    for status, response in responses.items() if isinstance(responses, dict) else ():
        plain = _follow(response, whole)
        if isinstance(plain, dict) and isinstance(plain.get("schema"), dict):
            found[str(status)] = {"description": "", "content": {kind: {"schema": plain["schema"]}}}
    return found


def _convert_schemes(schemes: Any) -> JSONObject:
    found: JSONObject = {}
    for name, scheme in schemes.items() if isinstance(schemes, dict) else ():
        if not isinstance(scheme, dict):
            continue
        if scheme.get("type") == "basic":
            scheme = {"type": "http", "scheme": "basic", "description": scheme.get("description")}
        elif scheme.get("type") == "oauth2":
            flow = _FLOWS.get(str(scheme.get("flow")), "implicit")
            kept = {one: scheme[one] for one in ("authorizationUrl", "tokenUrl") if one in scheme}
            kept["scopes"] = scheme.get("scopes") or {}
            scheme = {"type": "oauth2", "flows": {flow: kept}}
        found[str(name)] = scheme
    return found


def _resolved(values: Any, whole: JSONObject) -> list[JSONObject]:
    found = (_follow(one, whole) for one in (values if isinstance(values, list) else ()))
    return [one for one in found if isinstance(one, dict)]


def _follow(value: Any, whole: JSONObject) -> Any:
    """Follow a reference to a shared parameter or response, which are never nested."""
    reference = value.get("$ref") if isinstance(value, dict) else None
    if not isinstance(reference, str):
        return value
    kind, _, name = reference.removeprefix("#/").partition("/")
    group = whole.get(kind)
    name = name.replace("~1", "/").replace("~0", "~")
    return group.get(name) if isinstance(group, dict) else None


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
