"""Commands and links of READMEs as the configuration that they would write. Pure."""

import re
import shlex
from base64 import b64decode
from binascii import Error as NotBase64Error
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from catalog.formats.files import RefusedError
from catalog.formats.loose_text import parse_json_with_comments
from catalog.formats.readers.mcp_json import is_server

Server = dict[str, Any]
_WEB = re.compile(r"https?://\S+", re.IGNORECASE)
_LINK = re.compile(r"[a-z][a-z0-9+.-]*+:(?!\s)\S+", re.IGNORECASE)
_MOST_LINKS = 3  # links within links: a page of a shop, an editor's redirect, and the link itself
_INNER = re.compile(r"[?&](?:url|link|target)=([a-z][\w.+-]*(?::|%3A)(?!//)\S+)", re.IGNORECASE)
# Options of `… mcp add`, each with what it says of the server; "" for what only the client needs.
_OPTIONS = {
    **dict.fromkeys(("-e", "--env"), "env"),
    **dict.fromkeys(("-H", "--header", "--headers"), "headers"),
    **dict.fromkeys(("-t", "--transport", "--type"), "type"),
    **dict.fromkeys(("--url", "--uri"), "url"),
    **dict.fromkeys(("--bearer-token-env-var",), "bearerTokenEnvVar"),
    **dict.fromkeys(("--description",), "description"),
    **dict.fromkeys(("--include-tools", "--tools"), "includeTools"),
    **dict.fromkeys(("--exclude-tools",), "excludeTools"),
    **dict.fromkeys(("-s", "--scope", "--timeout", "--client-id", "--client-secret"), ""),
    **dict.fromkeys(("--callback-port", "--oauth-client-id", "--cwd", "--workspace"), ""),
}
_SEVERAL = ("env", "headers")
_PAIR = re.compile(r"[A-Za-z_][\w-]*=.*", re.DOTALL)


def split_command(text: str) -> list[str]:
    """Return the words of a command over one or several lines; none if its quotes do not close."""
    joined = re.sub(r"[\\^`][ \t]*\r?\n", " ", text)
    try:
        words = shlex.split(joined)
    except ValueError:
        return []
    return words[1:] if words[:1] in (["$"], [">"], ["%"]) else words


def read_client_command(
    words: Sequence[str], parse: Callable[[str], Any]
) -> tuple[str, Server] | None:
    """Return name and server of `claude mcp add …` and its like; None for another command."""
    if "--add-mcp" in words:
        value = parse(words[words.index("--add-mcp") + 1]) if words[-1] != "--add-mcp" else None
        return (str(value.get("name") or ""), value) if isinstance(value, dict) else None
    if len(words) < 4 or words[1] != "mcp" or words[2] not in ("add", "add-json"):
        return None
    names, server, command = _read_options(words[3:])
    name, rest = (names[0] if names else ""), names[1:]
    if words[2] == "add-json":
        value = parse(rest[0]) if rest else None
        return (name, value) if isinstance(value, dict) else None
    if command:
        rest = command
    if rest and _WEB.fullmatch(rest[0]):
        server.setdefault("url", rest[0])
    elif rest:
        server |= {"command": rest[0], "args": rest[1:]}
    elif _WEB.fullmatch(name):
        name, server = "", {"url": name, **server}
    return (name, server) if is_server(server) else None


def read_link(text: str) -> tuple[str, Server] | None:
    """Return name and server of a link that installs one in an editor; None for another."""
    for _ in range(_MOST_LINKS):
        if not _LINK.fullmatch(text):
            return None
        link = urlsplit(text)
        whole = _packed(unquote(link.query))
        if isinstance(whole, dict) and is_server(whole):
            return str(whole.get("name") or ""), whole
        if linked := _named_server(link.scheme, dict(parse_qsl(link.query))):
            return linked
        # What is within another link begins anew: `…/redirect?url=vscode:mcp/install?{…}`.
        inner = _INNER.search(text)
        if inner is None:
            return None
        text = inner.group(1)
        text = unquote(text) if "%" in text.partition("?")[0] else text
    return None


def _named_server(scheme: str, values: dict[str, str]) -> tuple[str, Server] | None:
    """Return what the values of a link name; a page of the web needs a packed configuration."""
    name = values.get("name") or values.get("id") or ""
    for key in ("config", "mcp", "server"):
        packed = _packed(values.get(key, ""))
        if not isinstance(packed, dict):
            continue
        if not is_server(packed) and len(packed) == 1:
            [(key, packed)] = packed.items()
            name = name or key
        return (name, packed) if is_server(packed) else None
    if scheme in ("http", "https"):
        return None
    server: Server = {"type": values.get("type", ""), "description": values.get("description", "")}
    if _WEB.fullmatch(values.get("url", "")):
        return name, {**server, "url": values["url"]}
    program = values.get("cmd") or values.get("command")
    return (name, {**server, "command": program}) if program else None


def _read_options(words: Sequence[str]) -> tuple[list[str], Server, list[str]]:
    """Return the words without options, what the options say, and the command after `--`."""
    names: list[str] = []
    server: Server = {}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        option, sign, value = word.partition("=") if word.startswith("--") else (word, "", "")
        is_program = len(names) > 1 and not _WEB.fullmatch(names[1])
        if word == "--":
            return names, server, waiting
        if option not in _OPTIONS or is_program:
            if is_program or not word.startswith("-"):
                names.append(word)
            continue
        key = _OPTIONS[option]
        text = value if sign else waiting.pop(0) if waiting else ""
        if key in _SEVERAL:
            server.setdefault(key, []).append(text)
            # `-e A=1 B=2 --` is one option with two values.
            while key == "env" and waiting and _PAIR.fullmatch(waiting[0]) and "--" in waiting:
                server[key].append(waiting.pop(0))
        elif key:
            server[key] = text
    return names, server, []


def _packed(text: str) -> Any:
    """Return the value of JSON, as such or in base64; None where it is neither."""
    candidates: list[str] = [text]
    try:
        padded = text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)
        candidates.append(b64decode(padded, validate=True).decode())
    except (NotBase64Error, ValueError):
        pass
    for candidate in candidates:
        if candidate[:1] != "{":
            continue
        try:
            return parse_json_with_comments(candidate, max_depth=20)
        except RefusedError:
            continue
    return None
