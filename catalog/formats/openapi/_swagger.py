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
# How each `collectionFormat` is written in version 3; the last of them is Pegboard's own word.
_COLLECTIONS: dict[str, JSONObject] = {
    "csv": {"style": "form", "explode": False},
    "multi": {"style": "form", "explode": True},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "tsv": {"style": "tabDelimited", "explode": False},
}
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


_KEPT = (
    *("info", "tags", "security", "definitions", "parameters", "responses"),
    *("x-parts", "x-left-out"),
)


def _servers(value: JSONObject) -> list[JSONObject]:
    base = str(value.get("basePath") or "/")
    host = value.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base}]
    offered = _texts(value.get("schemes"))
    scheme = next((candidate for candidate in _SCHEMES if candidate in offered), "https")
    return [{"url": f"{scheme}://{host}{base}"}]


def _convert_path(item: JSONObject, whole: JSONObject, consumes: list[str]) -> JSONObject:
    shared = _resolved(item.get("parameters"), whole)
    converted: JSONObject = {}
    for method in _METHODS:
        operation = item.get(method)
        if isinstance(operation, dict):
            converted[method] = _convert_operation(operation, shared, whole, consumes)
    return converted


def _convert_operation(
    operation: JSONObject, shared: list[JSONObject], whole: JSONObject, consumes: list[str]
) -> JSONObject:
    operation_parameters = _resolved(operation.get("parameters"), whole)
    by_name = {
        (parameter.get("in"), parameter.get("name")): parameter
        for parameter in (*shared, *operation_parameters)
    }
    parameters, form = [], []
    body: JSONObject | None = None
    for parameter in by_name.values():
        if parameter.get("in") == "body":
            body = parameter
        elif parameter.get("in") == "formData":
            form.append(parameter)
        else:
            parameters.append(_convert_parameter(parameter))
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


def _convert_parameter(parameter: JSONObject) -> JSONObject:
    converted: JSONObject = {key: parameter[key] for key in _PARAMETER if key in parameter}
    converted["schema"] = _schema_of(parameter)
    if parameter.get("type") == "array" and parameter.get("in") == "query":
        converted |= _collection(parameter)
    return converted


def _collection(parameter: JSONObject) -> JSONObject:
    return _COLLECTIONS.get(str(parameter.get("collectionFormat")), _COLLECTIONS["csv"])


def _schema_of(parameter: JSONObject) -> JSONObject:
    schema = {key: parameter[key] for key in _OF_SCHEMA if key in parameter}
    if schema.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    return schema


def _form_body(form: list[JSONObject], kinds: list[str]) -> JSONObject:
    properties = {
        str(field.get("name")): {**_schema_of(field), "description": field.get("description") or ""}
        for field in form
    }
    required = [str(field.get("name")) for field in form if field.get("required") is True]
    has_file = any(field.get("type") == "file" for field in form)
    multipart = has_file or (_MULTIPART in kinds and _FORM not in kinds)
    schema = {"type": "object", "properties": properties, "required": required}
    encoding = {
        str(field.get("name")): _collection(field) for field in form if field.get("type") == "array"
    }
    content = {_MULTIPART if multipart else _FORM: {"schema": schema, "encoding": encoding}}
    return {"required": bool(required), "content": content}


def _convert_responses(responses: Any, operation: JSONObject, whole: JSONObject) -> JSONObject:
    produces = _texts(operation.get("produces")) or _texts(whole.get("produces"))
    kind = next((media_type for media_type in produces if "json" in media_type), "application/json")
    converted: JSONObject = {}
    for status, response in responses.items() if isinstance(responses, dict) else ():
        plain = _follow(response, whole)
        if isinstance(plain, dict) and isinstance(plain.get("schema"), dict):
            converted[str(status)] = {
                "description": "",
                "content": {kind: {"schema": plain["schema"]}},
            }
    return converted


def _convert_schemes(schemes: Any) -> JSONObject:
    converted: JSONObject = {}
    for name, scheme in schemes.items() if isinstance(schemes, dict) else ():
        if not isinstance(scheme, dict):
            continue
        if scheme.get("type") == "basic":
            scheme = {"type": "http", "scheme": "basic", "description": scheme.get("description")}
        elif scheme.get("type") == "oauth2":
            flow = _FLOWS.get(str(scheme.get("flow")), "implicit")
            converted_flow = {
                key: scheme[key] for key in ("authorizationUrl", "tokenUrl") if key in scheme
            }
            converted_flow["scopes"] = scheme.get("scopes") or {}
            scheme = {"type": "oauth2", "flows": {flow: converted_flow}}
        converted[str(name)] = scheme
    return converted


def _resolved(values: Any, whole: JSONObject) -> list[JSONObject]:
    targets = (_follow(value, whole) for value in (values if isinstance(values, list) else ()))
    return [value for value in targets if isinstance(value, dict)]


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
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
