"""Answers of which some part is not as MCP has it: the rest is read, and the part is named.

The SDK refuses an answer as a whole. So each tool of a list, and each block of a result, is checked
on its own before the SDK reads the message.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64Error
from functools import cache
from typing import Any, get_args

import mcp_types as types
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types.methods import SERVER_RESULTS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter, ValidationError

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject, ToolDefect
from catalog.formats.entry import plain_key

_LISTED = "pegboard/listed"  # in the `_meta` of a list: all that the server sent
_LATEST = "2025-11-25"
_OF_DRAFTS = "2025-03-26"
_DATE = re.compile(r"(20\d\d)-?([01]\d)-?([0-3]\d)")
_LONGEST_NAME, _LONGEST_REASON = 80, 160
_MOST_DEFECTS = 100
_DATA_ADDRESS = re.compile(r"data:([\w.+/-]{3,100});base64,")
# What bytes begin with, by their type.
_SIGNS = {
    re.compile(rb"\x89PNG\r\n\x1a\n", re.DOTALL): "image/png",
    re.compile(rb"\xff\xd8\xff", re.DOTALL): "image/jpeg",
    re.compile(rb"GIF8[79]a", re.DOTALL): "image/gif",
    re.compile(rb"RIFF.{4}WEBP", re.DOTALL): "image/webp",
    re.compile(rb"RIFF.{4}WAVE", re.DOTALL): "audio/wav",
    re.compile(rb"ID3", re.DOTALL): "audio/mpeg",
    re.compile(rb"OggS", re.DOTALL): "audio/ogg",
}
_URL_SAFE = str.maketrans("-_", "+/")
_LONGEST_BLOCK = 2_000
_OBJECT: JSONObject = {"type": "object"}
_OF_CALLS = frozenset({"tools/call", "tasks/result"})


def mend_answer(method: str, result: Any, protocol: str) -> Any:
    """Return the result with all that can be read, in the shape that the SDK expects."""
    if not isinstance(result, dict):
        return result
    if method == "initialize":
        return mend_opening(result)
    if method == "tools/list":
        return _mend_list(result, protocol)
    return _mend_result(result, protocol) if method in _OF_CALLS else result


def listed_in(page: types.ListToolsResult) -> list[Any]:
    """Return all entries of a page, as the server sent them."""
    listed: list[Any] = (page.meta or {}).get(_LISTED, [])
    return listed


def read_listed(entries: list[Any], protocol: str) -> tuple[list[JSONObject], list[ToolDefect]]:
    """Return the tools of a list, and what is wrong with the others.

    A field that cannot be read is left out of its tool. The schema of the arguments stays as the
    server sent it: whoever stores the tool says what can be used of it.
    """
    tools, defects = list[JSONObject](), list[ToolDefect]()
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            defects.append(_defect(f"tools[{index}]", "", "must be a mapping"))
            continue
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            defects.append(_defect(f"tools[{index}]", "name", "is required, as a text"))
            continue
        tool, wrong = _read_tool(entry, protocol)
        defects += (_defect(name[:_LONGEST_NAME], field, reason) for field, reason in wrong)
        if tool is not None:
            tools.append(tool)
    return tools, defects[:_MOST_DEFECTS]


def _defect(tool: str, field: str, reason: str) -> ToolDefect:
    return ToolDefect("tools/list", f"{tool}.{field}".rstrip("."), reason, tool)


def _read_tool(entry: JSONObject, protocol: str) -> tuple[JSONObject | None, list[tuple[str, str]]]:
    schema = entry.get("inputSchema")
    is_modern = protocol in MODERN_PROTOCOL_VERSIONS and isinstance(schema, dict)
    # Since 2026-07-28 clients must drop such a tool.
    if is_modern and (header := find_invalid_x_mcp_header(schema)) is not None:
        return None, [("inputSchema", f"has a header that is not valid ({header}); left out")]
    faults = _faults(entry, protocol)
    wrong = [
        (field, f"{reason}; left out") for field, reason in faults.items() if field != "inputSchema"
    ]
    readable = {field: value for field, value in entry.items() if field not in faults}
    if "inputSchema" in faults:
        readable["inputSchema"] = _OBJECT
    tool = types.Tool.model_validate(readable, by_name=False)
    dumped = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
    if "inputSchema" in faults:
        dumped["inputSchema"] = schema
    if dumped.get("inputSchema") is None:
        dumped.pop("inputSchema", None)
    return dumped, wrong


def _faults(tool: JSONObject, protocol: str) -> dict[str, str]:
    """Return the fields that this version of the protocol does not allow, each with the reason."""
    faults: dict[str, str] = {}
    for model in (_tool_type(protocol), types.Tool):
        try:
            model.model_validate(tool, by_name=False)
        except ValidationError as problem:
            for error in problem.errors(include_url=False, include_context=False):
                field, *inside = map(str, error["loc"])
                reason = f"{'.'.join(inside)} {error['msg']}".strip()[:_LONGEST_REASON]
                faults.setdefault(field, reason)
    return faults


def _without_faults(
    result: JSONObject, model: type[BaseModel], needed: frozenset[str] | set[str]
) -> JSONObject:
    """Return the result without optional fields that this version does not allow."""
    try:
        model.model_validate(result, by_name=False)
    except ValidationError as problem:
        wrong = {str(error["loc"][0]) for error in problem.errors(include_url=False)} - needed
        return {field: value for field, value in result.items() if field not in wrong}
    return result


@cache
def _result_type(method: str, protocol: str) -> type[BaseModel]:
    """Return the type of a complete result in this version."""
    of_method: Any = SERVER_RESULTS.get((method, protocol)) or SERVER_RESULTS[(method, _LATEST)]
    needed = "tools" if method == "tools/list" else "content"
    for member in get_args(of_method) or (of_method,):
        if needed in member.model_fields:
            complete: type[BaseModel] = member
            return complete
    raise LookupError(method)


@cache
def _tool_type(protocol: str) -> type[BaseModel]:
    """Return the type of a tool in lists of this version."""
    tools = _result_type("tools/list", protocol).model_fields["tools"]
    tool: type[BaseModel] = get_args(tools.annotation)[0]
    return tool


@cache
def _block_types(protocol: str) -> tuple[TypeAdapter[Any], ...]:
    blocks = _result_type("tools/call", protocol).model_fields["content"]
    return TypeAdapter(get_args(blocks.annotation)[0]), _BLOCK


def mend_opening(result: JSONObject) -> JSONObject:
    """Return the answer to `initialize` without what says nothing: `null`, `[]` for an object."""
    opening = {key: value for key, value in result.items() if value is not None}
    if not isinstance(opening.get("instructions", ""), str):
        del opening["instructions"]
    announced = opening.get("capabilities")
    announced = announced if isinstance(announced, dict) else {}
    capabilities: JSONObject = {}
    for name, feature in announced.items():
        if feature is None or feature is False:
            continue
        fields = feature if isinstance(feature, dict) else {}
        capabilities[name] = {key: value for key, value in fields.items() if value is not None}
    about = opening.get("serverInfo")
    about = about if isinstance(about, dict) else {"name": about}
    texts = {key: value for key, value in about.items() if isinstance(value, str)}
    server_info = about | {"name": texts.get("name", "server"), "version": texts.get("version", "")}
    server_info = _without_faults(server_info, types.Implementation, {"name", "version"})
    # A date in another spelling is that version; of a draft or none, the oldest over HTTP counts.
    dated = _DATE.sub(r"\1-\2-\3", str(opening.get("protocolVersion")))
    version = dated if _DATE.fullmatch(dated) else _OF_DRAFTS
    return {
        **opening,
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": server_info,
    }


def _mend_list(result: JSONObject, protocol: str) -> JSONObject:
    # Go writes an empty list as null.
    entries = result["tools"] or [] if "tools" in result else None
    if isinstance(entries, dict) and all(isinstance(entry, dict) for entry in entries.values()):
        entries = [{"name": name, **entry} for name, entry in entries.items()]
    if not isinstance(entries, list):
        return result
    entries = list(map(_in_form_of_mcp, entries))
    sound = [entry for entry in entries if isinstance(entry, dict) and not _faults(entry, protocol)]
    mended = {**result, "tools": sound}
    if isinstance(cursor := result.get("nextCursor"), int):
        mended["nextCursor"] = str(cursor)
    elif not cursor:  # "" and null end the list
        mended.pop("nextCursor", None)
    if protocol in MODERN_PROTOCOL_VERSIONS:
        mended |= _cache_hints(result)
    mended = _without_faults(mended, _result_type("tools/list", protocol), {"tools"})
    return {**mended, "_meta": {**(mended.get("_meta") or {}), _LISTED: entries}}


def _in_form_of_mcp(entry: Any) -> Any:
    """Return a tool in the form of MCP that is in the form of a model's API."""
    function = entry.get("function") if isinstance(entry, dict) else None
    if isinstance(function, dict) and "name" not in entry:
        entry = function
    if isinstance(entry, dict) and "inputSchema" not in entry:
        schema = entry.get("input_schema", entry.get("parameters"))
        rest = {key: entry[key] for key in entry if key not in ("input_schema", "parameters")}
        return {**rest, "inputSchema": schema} if isinstance(schema, dict) else entry
    return entry


def _cache_hints(result: JSONObject) -> JSONObject:
    """Return the hints that a list of 2026 must have; Pegboard reads each list anew."""
    scope, milliseconds = result.get("cacheScope"), result.get("ttlMs")
    return {
        "resultType": "complete",
        "cacheScope": scope if scope in ("private", "public") else "private",
        "ttlMs": milliseconds if type(milliseconds) is int and milliseconds >= 0 else 0,
    }


def _mend_result(result: JSONObject, protocol: str) -> JSONObject:
    if result.get("resultType") == "input_required" or "task" in result:
        return result
    if not {"content", "structuredContent"} & result.keys():
        rest = {key: value for key, value in result.items() if key not in ("_meta", "isError")}
        # Of a result without content, what else it has is the answer.
        text = write_json(rest, ensure_ascii=False) if rest else None
        result = {**result, "content": [text] if text else []}
    # As Python's SDK names it, and as people say it where there is no content.
    if "isError" not in result and (result.get("is_error") or result.get("error")):
        result = {**result, "isError": True}
    blocks = [_mend_block(block, protocol) for block in _blocks(result.get("content"))]
    mended, structured = {**result, "content": blocks}, result.get("structuredContent")
    if protocol in MODERN_PROTOCOL_VERSIONS:
        mended["resultType"] = "complete"
    elif not isinstance(structured, dict | None):
        # MCP's structured content was an object until 2026; the model reads another one as text.
        del mended["structuredContent"]
        blocks.append({"type": "text", "text": write_json(structured, ensure_ascii=False)})
    if not isinstance(result.get("isError", False), bool):
        mended["isError"] = str(result["isError"]).lower() in ("true", "1")
    return _without_faults(mended, _result_type("tools/call", protocol), {"content"})


def _blocks(content: Any) -> list[Any]:
    if content is None:
        return []
    parts = content if isinstance(content, list) else [content]
    blocks: list[Any] = []
    for part in parts:
        is_nested = isinstance(part, list) and any(isinstance(block, dict) for block in part)
        blocks += part if is_nested else [part]
    return blocks


def _mend_block(block: Any, protocol: str) -> Any:
    """Return the block, or one of text in the place of one that nobody could read."""
    if not isinstance(block, dict):
        return {"type": "text", "text": _as_text(block)}
    if block.get("type") in ("image", "audio"):
        media = _read_media(block["type"], block)
        if media is None and isinstance(block.get("data"), str) and "mimeType" in block:
            return _left_out(f'of type "{block["type"]}" whose data is not base64', block)
        block = {**block, **(media or {})}
    try:
        for adapter in _block_types(protocol):
            adapter.validate_python(block, by_name=False)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False)
    else:
        return block
    kind = block.get("type")
    if (simple := _simpler(kind, block)) is not None:
        return simple
    if not isinstance(kind, str):
        return _left_out("without a type", block)
    if kind not in _KINDS:
        return _left_out(f'of the unknown type "{kind[:_LONGEST_NAME]}"', block)
    why = next(
        (
            f"{'.'.join(map(str, error['loc'][1:]))}: {error['msg']}"[:_LONGEST_REASON]
            for error in errors
            if error["loc"][:1] == (_KINDS[kind],)
        ),
        "",
    )
    return _left_out(f'of type "{kind}" that is not valid ({why})', block)


def _simpler(kind: Any, block: Any) -> JSONObject | None:
    """Return a block that says the same in the form that MCP has for it, or None."""
    if not isinstance(block, dict):
        return None
    if kind in ("image", "audio", "image_url"):
        return _read_media("audio" if kind == "audio" else "image", block)
    resource = block.get("resource", block if kind == "resource" else None)
    if isinstance(resource, dict) and (text := resource.get("text")) is not None:
        return {"type": "text", "text": _as_text(text)}
    if kind == "resource_link" and isinstance(uri := block.get("uri"), str):
        return {"type": kind, "uri": uri, "name": uri}
    for key in ("text", "content", "value") if kind in ("text", None) else ("text",):
        if key in block:  # `input_text`, `markdown` and what else models' APIs call one
            return {"type": "text", "text": _as_text("" if block[key] is None else block[key])}
    return None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else write_json(value, ensure_ascii=False)


def _read_media(kind: str, block: JSONObject) -> JSONObject | None:
    """Return an image or a sound with its type and plain base64, however the server writes them.

    Providers refuse the whole request where the type is not that of the bytes, or the base64 has
    line ends.
    """
    source = block.get("source", block.get("image_url", block))
    fields = source if isinstance(source, dict) else {"data": source}
    data = fields.get("data", fields.get("url"))
    data = data.get("data") if isinstance(data, dict) else data  # a `Buffer` of Node
    plain = {plain_key(str(key)): value for key, value in {**block, **fields}.items()}
    declared = plain.get("mimetype") or plain.get("mediatype")
    if isinstance(data, list):
        try:
            data = b64encode(bytes(data)).decode()
        except (TypeError, ValueError):
            return None
    if not isinstance(data, str):
        return None
    if address := _DATA_ADDRESS.match(data):
        declared, data = declared or address[1], data[address.end() :]
    data = re.sub(r"\s+", "", data).translate(_URL_SAFE)
    data += "=" * (-len(data) % 4)
    try:
        start = b64decode(data[:64], validate=True)
    except NotBase64Error:
        return None
    signs = (mime for sign, mime in _SIGNS.items() if sign.match(start))
    mime = next(signs, declared)
    return {"type": kind, "data": data, "mimeType": mime} if isinstance(mime, str) else None


def _left_out(what: str, block: Any) -> JSONObject:
    """Return a text in the place of a block, with the block itself where it is short."""
    try:
        serialized = write_json(block, ensure_ascii=False)
    except (TypeError, ValueError):
        serialized = ""
    words = f"a part of the answer {what}"
    if not isinstance(block, dict) or len(serialized) > _LONGEST_BLOCK:
        return {"type": "text", "text": f"[Left out: {words}.]"}
    return {"type": "text", "text": f"[As it is: {words}.]\n{serialized}"}


_BLOCK: TypeAdapter[Any] = TypeAdapter(types.ContentBlock)
# The class of each type of block, as the validator names it.
_KINDS = {
    "text": "TextContent",
    "image": "ImageContent",
    "audio": "AudioContent",
    "resource": "EmbeddedResource",
    "resource_link": "ResourceLink",
}
