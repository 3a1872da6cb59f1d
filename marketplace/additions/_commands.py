"""Commands, links and pages of READMEs as the configuration that they would write. Pure."""

import html
import re
import shlex
from base64 import b64decode
from binascii import Error as NotBase64Error
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.utils.translation import gettext_lazy

from catalog.formats.files import RefusedError
from catalog.formats.launches import PROGRAMS, program_of, split_line, with_scheme
from catalog.formats.loose_text import STRAIGHT_QUOTES, parse_json_with_comments
from catalog.formats.names import server_name
from catalog.formats.readers.mcp_json import is_server

# Addresses as they stand in a text: in brackets, in quotes, behind a word, without their scheme.

_WRAPPED = re.compile(
    r"\A(?:\[[^\]\n]{0,200}\]\((.+)\)|<(.+)>|[\"'\u201c\u2018](.+)[\"'\u201d\u2019])\Z"
)
_LABEL = re.compile(r"\A(?:[A-Za-z]{1,20} ){0,3}[A-Za-z]{1,20}: +(?=https?://)", re.IGNORECASE)
_IMAGE = re.compile(
    r"(?:(?:ghcr|docker|quay|gcr|lscr)\.io|mcr\.microsoft\.com|public\.ecr\.aws|registry\.[\w.-]+"
    r"|[\w-]+\.azurecr\.io|[\w-]+\.pkg\.dev)/[\w./-]+(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?"
    r"|[a-z0-9][\w.-]*/[\w.-]+:[\w.-]+(?:@sha256:[0-9a-f]{64})?"
)
# Pages about a package or an image, with its name and version.
_PAGES = (
    (
        re.compile(
            r"https?://(?:www\.)?npmjs\.com/package/((?:@[\w.-]+/)?[\w.-]+)(?:/v/([\w.-]+))?/?"
        ),
        "npx",
    ),
    (re.compile(r"https?://pypi\.org/project/([\w.-]+)/?(?:([\w.]+)/?)?"), "uvx"),
    (re.compile(r"https?://hub\.docker\.com/(?:r|_)/([\w./-]+?)()/?"), "docker"),
    (re.compile(r"https?://hub\.docker\.com/mcp/server/([\w.-]+)()(?:/\w*)?"), "mcp"),
)


def plain_address(text: str) -> str:
    """Return the address in a text that has no more than that; the text itself otherwise."""
    plain = html.unescape(text) if "&amp;" in text else text
    for _ in range(3):
        match = _WRAPPED.match(plain)
        inner = next(filter(None, match.groups()), plain) if match else plain
        plain = _LABEL.sub("", inner).strip().rstrip(",;")
    if _WEB.fullmatch(plain):
        return plain.rstrip(".")
    return ("" if _IMAGE.fullmatch(plain) else with_scheme(plain)) or text


def launch_of(text: str) -> list[str]:
    """Return the command that starts the package or image of a page or a name; none for others."""
    for page, program in _PAGES:
        if match := page.fullmatch(text.partition("?")[0].partition("#")[0]):
            name, version = match.group(1), match.group(2)
            if program in ("docker", "mcp"):
                return ["docker", "run", "-i", "--rm", f"mcp/{name}" if program == "mcp" else name]
            return [program, f"{name}@{version}" if version else name]
    return ["docker", "run", "-i", "--rm", text] if _IMAGE.fullmatch(text) else []


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
    **dict.fromkeys(("--name",), "name"),
    **dict.fromkeys(("--command",), "command"),
    **dict.fromkeys(("--args",), "args"),
    **dict.fromkeys(("--description",), "description"),
    **dict.fromkeys(("--include-tools", "--tools"), "includeTools"),
    **dict.fromkeys(("--exclude-tools",), "excludeTools"),
    **dict.fromkeys(("-s", "--scope", "--timeout", "--client-id", "--client-secret"), ""),
    **dict.fromkeys(("--agent", "--profile"), ""),
    **dict.fromkeys(("--callback-port", "--oauth-client-id", "--cwd", "--workspace"), ""),
}
_SEVERAL = ("env", "headers")
_SERVERS = ("/mcp", "/sse")
_SMITHERY = re.compile(r"(?:@smithery/cli(?:@[\w.-]+)?|smithery)")
_INSTALLER = re.compile(r"(?:add-mcp|install-mcp|mcp-add|mcp-install)(?:@[\w.-]+)?")
_PAIR = re.compile(r"[A-Za-z_][\w-]*=.*", re.DOTALL)


_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//)(?=\s|$)[^\n]*", re.MULTILINE)
_PROMPT = re.compile(r"\A(?:[$>%]|PS [^>\n]{0,100}>|[\w.@~/:-]{0,60}[$#])\s+")
# What a README has one do before and after, which says nothing of a server.
_AROUND = re.compile(
    r"(?:cd|mkdir|git|brew|apt|apt-get|curl|pip3?|uv|npm|pnpm|yarn|docker) "
    r"(?!(?:run|tool|x|exec|dlx) )[^\n]*|(?:claude|codex|gemini) mcp (?:list|get|login)\b[^\n]*"
    r"|claude|codex"
)
_WINDOWS_PATH = re.compile(r"(?:^|[\s\"=])[A-Za-z]:\\\w")
_MOST_LINES = 40
_INDEX_CLIENTS = frozenset({"npm", "pnpm", "yarn", "pip", "pip3", "uv", "poetry", "pdm"})
# What word processors make of hyphens.
_DASH = re.compile(r"(?<=\s)[\u2013\u2014](?=(\w)(\w?))")


# Commands that start no server which Pegboard could, each with what can be added instead.
_PROJECT_TOOLS = "poetry|pdm|hatch|rye|pixi|pipenv|bundle|mix|gradle|mvn|npm|yarn|pnpm"
_INSTALLS = (
    "cargo|brew|gem|apt|apt-get|dnf|yum|pacman|apk|snap|winget|choco|scoop|conda|mamba|composer"
)
_LISTS = r"(?:@smithery/cli|smithery|(?:@[\w.-]+/)?mcp-get|mcpm|mcp-cli|mcpx)(?:@\S+)?"
_NPX = "(?:(?:npx|bunx) (?:-y |--yes )?)?"
_ADVICE = (
    (
        r"(?:\S+ |/)plugins? |(?:gemini|qwen) extensions? |\S+ --install-extension |gh skill "
        rf"|{_NPX}(?:skills(?:add)?|openskills|add-skill)(?:@\S+)? ",
        gettext_lazy(
            "This adds a plugin or skills. Add the address of their repository as a source instead."
        ),
    ),
    (
        r"docker[ -]compose |podman-compose "
        r"|\S+ (?:\S+ ){0,4}--(?:additional-)?mcp-config(?: |=)[^{ ]{1,300}\Z",
        gettext_lazy("This names a file of another machine. Paste the file's content instead."),
    ),
    (
        rf"{_NPX}{_LISTS} |docker mcp\b|\w+ mcp add [\w.@/-]{{1,100}}\Z|vscode:mcp/by-name/",
        gettext_lazy(
            "This looks the server up in a list of its own. Paste what it would write into a "
            "client's configuration, or the address or package of the server."
        ),
    ),
    (
        rf"(?:sudo )?(?:{_INSTALLS}) (?:install|binstall|add|require|-S)\b|nix(?:-\w+)? |jbang "
        r"|(?:curl|wget|iwr|irm) .{0,300}\.(?:sh|ps1)\b",
        gettext_lazy(
            "Pegboard installs packages of PyPI and npm, and starts container images. Paste one of "
            "these, the address of this server, or the whole command of a program that an operator "
            "allows in PEGBOARD_LAUNCHERS."
        ),
    ),
    (
        rf"(?:git|gh repo) clone\b|make\b|cargo run\b|(?:{_PROJECT_TOOLS}) (?:run|start|exec|ci)\b"
        r"|(?:docker|podman) (?:build|exec|start|attach|load)\b|(?:npm|yarn|pnpm)(?: i| install)?\Z"
        r"|(?:ssh|kubectl|helm) |\S+ (?:\S+ ){0,3}install .{0,200}?"
        r"(?<= )(?:-r|-e|--editable|--requirement|\.{1,2}/|\.\Z|/)"
        r"|(?:uv run (?:\S+ ){0,6})?(?:mcp|fastmcp) (?:run|dev|install)\b"
        rf"|{_NPX}(?:(?:pnpm|yarn) (?:exec )?)?(?:tsx|ts-node|nodemon|vite-node|pm2) "
        r"|(?:\.{0,2}/|~/|[A-Za-z]:\\)\S",
        gettext_lazy(
            "This needs a folder or a program of another machine. Paste the package, the container "
            "image or the address of this server instead."
        ),
    ),
)
ADVICE = tuple((re.compile(rf"\A(?:{pattern})"), sentence) for pattern, sentence in _ADVICE)


def advice_for(words: Sequence[str]) -> str:
    """Return what can be added instead of a command that cannot; "" for others."""
    program = program_of(words)
    text = " ".join((program, *words[1:]) if program in PROGRAMS else words)
    return next((str(sentence) for pattern, sentence in ADVICE if pattern.match(text)), "")


def split_commands(text: str) -> list[list[str]]:
    """Return the words of each command of a text, without comments and prompts.

    A line that ends with a backslash goes on, and so does one within quotes. Variables that are
    exported belong to what follows.
    """
    joined = re.sub(
        r"(?<![ \t])[ \t]*+[\\^`][ \t]*+\r?\n\s*+",
        " ",
        _DASH.sub(lambda dash: "--" if dash[2] else "-", text),
    )
    joined = joined.translate(STRAIGHT_QUOTES)
    commands: list[list[str]] = []
    exported: list[str] = []
    waiting = ""
    for line in joined.splitlines():
        waiting = (
            f"{waiting}\n{line}" if waiting else _PROMPT.sub("", _COMMENT.sub("", line).strip())
        )
        is_windows = _WINDOWS_PATH.search(waiting) is not None
        try:
            words = shlex.split(waiting.replace("\\", "\\\\") if is_windows else waiting)
        except ValueError:
            continue
        waiting = ""
        of_line, variables = split_line(words)
        exported += variables
        # What is installed first is the package; its program says no more.
        of_line = of_line[:1] if of_line and of_line[0][0] in _INDEX_CLIENTS else of_line
        commands += ([*exported, *command] for command in of_line)
    telling = [words for words in commands if not _AROUND.fullmatch(" ".join(words))]
    return (telling or commands) if len(commands) <= _MOST_LINES else []


def read_client_command(
    words: Sequence[str], parse: Callable[[str], Any]
) -> tuple[str, Server] | None:
    """Return name and server of `claude mcp add …` and its like; None for another command."""
    words = ["claude", *words] if words[:1] in (["mcp"], ["/mcp"]) else words
    words = ["claude", "mcp", *words[2:]] if words[1:2] == ["/mcp"] else words
    if server_of_words := _other_command(words):
        return server_of_words
    if "--add-mcp" in words:
        value = parse(words[words.index("--add-mcp") + 1]) if words[-1] != "--add-mcp" else None
        return (str(value.get("name") or ""), value) if isinstance(value, dict) else None
    if len(words) < 4 or words[1] != "mcp" or words[2] not in ("add", "add-json", "set"):
        return None
    names, server, command = _read_options(words[3:])
    names = [server.pop("name"), *names] if "name" in server else names
    name, rest = (names[0] if names else ""), names[1:]
    if "args" in server:
        text = server["args"]
        server["args"] = (
            parse(text) if text.startswith("[") else text.split("," if "," in text else None)
        )
    if words[2] != "add":
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


def _other_command(words: Sequence[str]) -> tuple[str, Server] | None:
    """Return the server of a request to its address, of an installer, or of a session of Goose."""
    program = program_of(words)
    address = next((word for word in words if _WEB.fullmatch(word)), "")
    if program == "curl" and address:
        is_server_there = "jsonrpc" in " ".join(words) or address.rstrip("/").endswith(_SERVERS)
        headers = [
            value
            for option, value in pairwise(words)
            if option in ("-H", "--header") and not value.lower().startswith(("content-", "accept"))
        ]
        return ("", {"url": address, "headers": headers}) if is_server_there else None
    if address and program in ("mcp-remote", "mcp-proxy", "supergateway"):
        return "", {"command": ["npx", *words]}
    if address and program in ("fastmcp", "mcp"):
        return "", {"url": address}
    installer = next((at for at, word in enumerate(words[:4]) if _INSTALLER.fullmatch(word)), 0)
    if installer and program in ("npx", "bunx", "pnpx"):
        names, server, _ = _read_options(words[installer + 1 :])
        target = server.pop("url", "") or next(iter(names), "")
        name = server.pop("name", "")
        if _WEB.fullmatch(target):
            return name, {**server, "url": target}
        command = target if " " in target else f"npx -y {target}"
        return (name, {**server, "command": command}) if target else None
    of_list = next((at for at, word in enumerate(words[:4]) if _SMITHERY.fullmatch(word)), None)
    verbs = words[of_list + 1 :] if of_list is not None else []
    verbs = verbs[1:] if verbs[:1] == ["mcp"] else verbs
    if verbs[:1] in (["run"], ["install"], ["add"]) and len(verbs) > 1 and not address:
        # What it installs is written into the client's configuration as its `run`.
        taken = [
            word
            for option, value in pairwise(verbs)
            if option in ("--key", "--config", "--profile")
            for word in (option, value)
        ]
        launch = ["npx", "-y", "@smithery/cli", "run", verbs[1], *taken]
        return server_name(("npx", verbs[1])), {"command": launch}
    for option, value in pairwise(words) if program == "goose" else ():
        if option in ("--with-extension", "--with-builtin"):
            return "", {"command": value}
        if option.startswith("--with-") and _WEB.fullmatch(value):
            return "", {"url": value}
    return None


def read_link(text: str) -> tuple[str, Server] | None:
    """Return name and server of a link that installs one in an editor; None for another."""
    for _ in range(_MOST_LINKS):
        if not _LINK.fullmatch(text):
            return None
        link = urlsplit(text)
        whole = _packed(unquote(link.query))
        if isinstance(whole, dict) and is_server(whole):
            return str(whole.get("name") or ""), whole
        if linked := _named_server(link.scheme, parse_qsl(link.query)):
            return linked
        # What is within another link begins anew: `…/redirect?url=vscode:mcp/install?{…}`.
        inner = _INNER.search(text)
        if inner is None:
            return None
        text = inner.group(1)
        text = unquote(text) if "%" in text.partition("?")[0] else text
    return None


def _named_server(scheme: str, pairs: list[tuple[str, str]]) -> tuple[str, Server] | None:
    """Return what the values of a link name; a page of the web needs a packed configuration, or the
    address of a server for a connector."""
    values = dict(pairs)
    name = values.get("name") or values.get("id") or ""
    for key in ("config", "mcp", "server", "servers"):
        packed = _packed(values.get(key, ""))
        if not isinstance(packed, dict):
            continue
        while isinstance(packed, dict) and not is_server(packed) and len(packed) == 1:
            [(key, packed)] = packed.items()
            name = name if name or key == "mcpServers" else key
        return (name, packed) if is_server(packed) else None
    if scheme in ("http", "https"):
        is_connector = "connector" in "".join(values.values())
        address = values.get("url", "") if is_connector else ""
        return (name, {"url": address}) if _WEB.fullmatch(address) else None
    server: Server = {"type": values.get("type", ""), "description": values.get("description", "")}
    if _WEB.fullmatch(values.get("url", "")):
        return name, {**server, "url": values["url"]}
    program = values.get("cmd") or values.get("command")
    arguments = [value for key, value in pairs if key == "arg"]
    # Each with a description in the place of a value.
    variables = [value.partition("=")[0] for key, value in pairs if key == "env"]
    launch = {"command": program, "args": arguments, "env": variables}
    return (name, {**server, **launch}) if program else None


def _read_options(words: Sequence[str]) -> tuple[list[str], Server, list[str]]:
    """Return the words without options, what the options say, and the command after `--`."""
    names: list[str] = []
    server: Server = {}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        option, sign, value = word.partition("=") if word.startswith("--") else (word, "", "")
        # What follows a program is its own, unless that is a whole command in quotes.
        is_program = len(names) > 1 and not _WEB.fullmatch(names[1]) and " " not in names[1]
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
        candidates.append(unquote(candidates[-1]))
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
