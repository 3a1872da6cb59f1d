"""Text: counting, comparing, searching by a regular expression, hashing and encoding."""

import base64
import binascii
import difflib
import hashlib
import html
import re
from collections.abc import Callable
from urllib.parse import quote, unquote

from catalog.built_ins.base import RowOwner, Toolbox, ToolError, ask_reader
from catalog.formats.descriptors import JSONObject

SLUG = "text"
TOOLS = Toolbox()
MOST_LINES = 2_000  # of two texts that are compared: the effort grows with their product


@TOOLS.add("count")
def _count(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    text = arguments["text"]
    return {
        "characters": len(text),
        "without_spaces": sum(not character.isspace() for character in text),
        "words": len(re.findall(r"\w+(?:['\u2019-]\w+)*", text)),
        "lines": len(text.splitlines()),
        "bytes": len(text.encode(errors="surrogatepass")),
    }


@TOOLS.add("compare")
def _compare(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    before, after = arguments["before"].splitlines(), arguments["after"].splitlines()
    if max(len(before), len(after)) > MOST_LINES:
        raise ToolError(f"Texts of more than {MOST_LINES:,} lines are not compared.")
    lines = list(difflib.unified_diff(before, after, "before", "after", lineterm=""))
    changed = [line for line in lines[2:] if line[:1] in "+-"]
    return {
        "equal": arguments["before"] == arguments["after"],
        "added": sum(line.startswith("+") for line in changed),
        "removed": sum(line.startswith("-") for line in changed),
        "diff": "\n".join(lines),
    }


@TOOLS.add("search")
def _search(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    # A pattern can be made to run for years: it is searched for by a program with a time limit.
    return ask_reader(
        "pattern",
        arguments["text"].encode(errors="surrogatepass"),
        pattern=arguments["pattern"],
        replacement=arguments.get("replace_with"),
        ignore_case=bool(arguments.get("ignore_case")),
    )


@TOOLS.add("hash")
def _hash(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    name = arguments.get("algorithm", "sha256")
    digest = hashlib.new(name, arguments["text"].encode(errors="surrogatepass"))
    return {"algorithm": name, "hex": digest.hexdigest()}


def _decode_base64(text: str) -> str:
    plain = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()


_ENCODINGS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "base64": (lambda text: base64.b64encode(text.encode()).decode(), _decode_base64),
    "base64url": (
        lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
        _decode_base64,
    ),
    "hex": (
        lambda text: text.encode().hex(),
        lambda text: bytes.fromhex(text).decode(),
    ),
    "url": (lambda text: quote(text, safe=""), lambda text: unquote(text, errors="strict")),
    "html": (html.escape, html.unescape),
}


@TOOLS.add("encode")
def _encode(arguments: JSONObject, owner: RowOwner) -> str:
    encode, decode = _ENCODINGS[arguments["encoding"]]
    try:
        return (decode if arguments.get("decode") else encode)(arguments["text"])
    except (ValueError, binascii.Error):
        raise ToolError(f"That is no text in {arguments['encoding']}.") from None
