"""Configurations of MCP clients and gateways, without any secret.

A file keeps its servers under a key such as `mcpServers`, `context_servers` or `mcp.servers`, as a
map or a list, at any depth that clients use; a bare map or list of servers counts, too. Fields that
only the client needs are told as left out.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count, pairwise
from typing import Any, NoReturn

from catalog.formats._declared_targets import (
    Header,
    HeaderTemplates,
    build_header_templates,
    build_variable,
    parse_transport,
    read_web_address,
    safe_command,
)
from catalog.formats.descriptors import (
    IntegrationDescriptor,
    JSONObject,
    Loaded,
    canonical_json,
)
from catalog.formats.entry import Document, Entry, distinct, plain_key
from catalog.formats.files import PlainScalar, RefusedError, resolve_types
from catalog.formats.launches import Launch
from catalog.formats.names import server_name, server_title, slug_for
from catalog.formats.secret_redaction import (
    find_defaults,
    find_placeholders,
    is_plain_setting,
    name_secrets,
    normalize_placeholders,
    normalize_variables,
    redact_text,
    strip_placeholders,
)

OF_SERVERS = True
IS_LOOSE = True

# Keys that nothing but servers stand under, and words that others use as well. A key's last part
# counts: `amp.mcpServers` is `mcpServers`.
_KEYS = frozenset({"mcpservers", "contextservers", "modelcontextprotocolservers", "mcps"})
_COMMON_KEYS = frozenset({"servers", "mcp", "extensions", "gateways", "connections"})
_AROUND_COMMON = re.compile(r"mcp|entities|tool_?server", re.IGNORECASE)
_SWITCHES = ("true", "false")
_DEEPEST = 5
_ADDRESSES = ("httpUrl", "serverUrl", "url", "uri", "sseUrl", "endpoint", "baseUrl")
_TYPES = ("type", "transport", "transportType", "protocol")
_PROGRAMS = ("command", "cmd")
_VARIABLES = ("env", "envs", "environment")
_VARIABLE_NAMES = ("envVars", "envKeys")
_HEADERS = ("headers", "httpHeaders", "staticHeaders", "authHeaders")
_TOKENS = (
    "bearerToken",
    "authToken",
    "authValue",
    "authenticationToken",
    "apiKey",
    "key",
    "authorizationToken",
    "authorization",
)
_READ = frozenset(
    map(
        plain_key,
        (
            *(*_ADDRESSES, *_PROGRAMS, *_VARIABLES, *_VARIABLE_NAMES, *_HEADERS, *_TOKENS),
            *(
                *_TYPES,
                "args",
                "name",
                "title",
                "description",
                "disabled",
                "enabled",
                "isActive",
                "active",
            ),
            *("requestOptions", "requestInit", "bearerTokenEnvVar", "envHttpHeaders", "authType"),
            *("info", "source", "path", "id", "displayName", "bundled", "customUserVars", "slug"),
            *("config", "enable", "specType", "serverLabel", "serverDescription"),
        ),
    )
)
# Fields that say who may use what, by which a preview of rights can be made.
_RIGHTS = re.compile(
    r"(?:(?:include|exclude|enabled|disabled|allowed|disallowed|available)?tools|autoapprove"
    r"|alwaysallow|trust|accessgroups|accesscontrol|accessgrants|teams?|allowedteams|visibility"
    r"|requireapproval|toolconfiguration|allowallkeys|ownerusername|owneremail|teamid|functionnamefilterlist)"
)
_SIGN_IN = re.compile(r"o?auth\w*|clientid|clientsecret|tokenurl|authorizationurl|scopes?")
# What a client fills in for each of its people.
_OF_PERSON = re.compile(r"\{\{ ?(?:LIBRECHAT_|OPENID_|USER_|CHAT_)\w+ ?\}\}")
# Paths of the person who wrote the file, not secrets to ask for.
_LOCAL_VARIABLES = frozenset(
    {
        *("workspaceFolder", "userHome", "HOME", "PWD", "CLAUDE_PLUGIN_ROOT", "PATH", "USER"),
        *("extensionPath", "workspacePath", "pathSeparator", "__dirname"),
    }
)
# Programs that pass everything on to an address: it is the address that matters.
_BRIDGES = re.compile(
    r"(?:[\w@/.-]*/)?(?:mcp-remote|mcp-proxy|supergateway|mcp-server-bridge)(?:@[\w.-]+)?"
)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token) ", re.IGNORECASE)
_PLAIN_START = re.compile(r"(?:[A-Za-z_]\w*+=\S*+\s++)*+[\w.@-]++\s")


def recognises(value: Any) -> bool:
    """Return True where servers stand under one of the keys, or alone."""
    if not isinstance(value, dict):
        return isinstance(value, list) and bool(value) and all(map(is_server, value))
    if any(True for _ in _places(value)):
        is_described = isinstance(value.get("description"), str)
        return not is_described or not {"plugins", "extensions"}.isdisjoint(value)
    return bool(value) and all(map(is_server, value.values()))


def is_server(value: Any) -> bool:
    """Return True for a mapping with a program or an address."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("transport"), dict):
        return is_server(value["transport"])
    fields = {plain_key(str(key)): inner for key, inner in value.items()}
    has_address = any(isinstance(fields.get(plain_key(key)), str) for key in _ADDRESSES)
    return has_address or any(
        isinstance(fields.get(key), (str, list, dict)) and fields[key] for key in _PROGRAMS
    )


def _is_hosted(value: Any) -> bool:
    """Return True for a server among the tools of a request to a model's provider."""
    return isinstance(value, dict) and value.get("type") == "mcp" and is_server(value)


def read(document: Document) -> Loaded:
    """Read every server, without tools: those are listed when it is connected."""
    servers = list(_servers(document))
    single = document.integration if len(servers) == 1 else None
    prompts = _prompts(document.value)
    entities = document.value.get("entities") if isinstance(document.value, dict) else None
    for key, others in entities.items() if isinstance(entities, dict) else ():
        if isinstance(others, list) and others and key != "gateways":
            document.report(f"entities.{key}", f"has {len(others):,} entries that are no servers")
    integrations: dict[str, IntegrationDescriptor] = {}
    slugs: dict[str, str] = {}
    limit = document.limits.entries_per_file
    if len(servers) > limit:
        document.report(
            "mcpServers", f"has {len(servers):,} servers; only the first {limit:,} are read"
        )
    for name, value in servers[:limit]:
        try:
            entry = document.entry(value, name)
            integration = _ServerReader(entry, name, prompts).read(single)
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
            continue
        if slugs.get(integration.slug, name) != name:
            # Another server, whose name differs in what a slug does not tell.
            free = (f"{integration.slug}-{number}" for number in count(2))
            slug = next(slug for slug in free if slug not in integrations)
            integration = replace(integration, slug=slug)
        slugs[integration.slug] = name
        if integrations.setdefault(integration.slug, integration) != integration:
            document.report(name, "is there twice; the first is read")
    return Loaded(tuple(integrations.values()))


def _places(value: JSONObject, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each place with servers: its key, and the map or list."""
    for key, inner in value.items():
        last = plain_key(str(key).rpartition(".")[2])
        if not isinstance(inner, (dict, list)):
            continue
        items = inner.values() if isinstance(inner, dict) else inner
        around = (*above, str(key))
        # LibreChat's `interface.mcpServers` has switches, no servers.
        has_entries = not items or any(
            item not in (True, False) and not (isinstance(item, PlainScalar) and item in _SWITCHES)
            for item in items
        )
        is_own = has_entries and (
            last in _KEYS or (around == ("servers",) and isinstance(inner, dict))
        )
        is_common = last in _COMMON_KEYS and (not above or any(map(_AROUND_COMMON.search, around)))
        is_common = is_common or (last == "tools" and any(map(_is_hosted, items)))
        if is_own or (is_common and any(map(is_server, items))):
            yield str(key), inner
        elif isinstance(inner, dict) and len(above) < _DEEPEST:
            yield from _places(inner, around)


def _servers(document: Document) -> Iterator[tuple[str, Any]]:
    """Yield the name of each server, and what is said of it."""
    value = document.value
    places = list(_places(value)) if isinstance(value, dict) else []
    for key, servers in places or [("servers", value)]:
        if isinstance(servers, dict):
            for name, server in servers.items():
                entry = _written_out(server)
                yield str(name) or next(names_of_server(entry), ""), entry
            continue
        for at, server in enumerate(servers):
            if key == "tools" and not _is_hosted(server):
                document.report(f"{key}[{at}]", "is no MCP server, and is left out")
            elif (
                isinstance(server, dict)
                and len(server) == 1
                and all(map(is_server, server.values()))
            ):
                yield from ((str(name), inner) for name, inner in server.items())
            elif isinstance(server, str) and _written_out(server) == server:
                document.report(f"{key}[{at}]", "names a server that is configured elsewhere")
            else:
                entry = _written_out(server)
                yield next(names_of_server(entry), f"{key}[{at}]"), entry


def _written_out(server: Any) -> Any:
    """Return a server that is no more than its address or its command as a mapping."""
    if isinstance(server, str) and re.match(r"https?://", server, re.IGNORECASE):
        return {"url": server}
    if isinstance(server, str) and " " in server.strip():
        return {"command": server.strip()}
    is_command = isinstance(server, list) and server and all(isinstance(w, str) for w in server)
    return {"command": server} if is_command else server


def names_of_server(value: Any) -> Iterator[str]:
    """Yield the names of a server in a list, the best first: its own, and one made of it."""
    sources = (value, value.get("info")) if isinstance(value, dict) else ()
    for source in sources:
        fields = source if isinstance(source, dict) else {}
        plain = {plain_key(str(key)): text for key, text in fields.items()}
        for key in ("name", "serverlabel", "title", "id"):
            text = plain.get(key)
            if isinstance(text, str) and text.strip():
                yield text.strip()
    if is_server(value):
        words = command_words(value.get("command") or value.get("cmd"))
        args = value.get("args") if isinstance(value.get("args"), list) else []
        words = tuple(Launch.read((*words, *map(str, args or ()))).words)
        # A bridge is named by what it leads to.
        address = next((word for word in words if re.match(r"https?://", word)), "")
        is_bridge = address and any(map(_BRIDGES.fullmatch, words[:4]))
        yield server_name(() if is_bridge else words, str(value.get("url") or address))


def _prompts(value: Any) -> dict[str, JSONObject]:
    """Return what the file asks people for (`inputs`), by the name of the variable."""
    prompts: dict[str, JSONObject] = {}
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if not isinstance(inner, dict):
            continue
        waiting += [part for part in inner.values() if isinstance(part, dict)]
        asked_of_people = inner.get("customUserVars")
        for name, about in asked_of_people.items() if isinstance(asked_of_people, dict) else ():
            words = about if isinstance(about, dict) else {}
            prompts[str(name)] = {"description": words.get("description") or words.get("title")}
        inputs = inner.get("inputs") if isinstance(inner.get("inputs"), list) else ()
        for item in inputs or ():
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                prompts[normalize_placeholders(f"${{{item['id']}}}")[1][0]] = item
    return prompts


def command_words(command: Any) -> tuple[str, ...]:
    """Return the words of a command that is a list, or one text with its arguments."""
    if isinstance(command, list):
        return tuple(map(str, command))
    text = command if isinstance(command, str) else ""
    if not _PLAIN_START.match(text):
        return (text,) if text else ()
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return (text,)


class _ServerReader:
    """Reads one server of a configuration."""

    def __init__(self, entry: Entry, name: str, prompts: Mapping[str, JSONObject]) -> None:
        if len(name) > entry.document.limits.name:
            raise RefusedError(
                "has a name that is too long", entry.at[: entry.document.limits.name]
            )
        self._entry, self._name, self._prompts = entry, name, prompts
        nested = entry.raw("transport")
        self._connection = (
            (entry.mapping("transport") or entry) if isinstance(nested, dict) else entry
        )
        program = self._connection.raw(*_PROGRAMS)
        self._program = self._connection.mapping(*_PROGRAMS) if isinstance(program, dict) else None
        self._environment = self._read_environment()
        self._headers: list[Header] = []
        self._variables: dict[str, JSONObject] = {}

    def read(self, slug: str | None) -> IntegrationDescriptor:
        """Return the integration; `slug` is the admin's choice. Raises RefusedError."""
        entry, connection = self._entry, self._connection
        words = self._command()
        key = next((key for key in _ADDRESSES if connection.raw(key) is not None), "url")
        address = self._address(key)
        bridged = self._unbridge(words)
        endpoint = normalize_placeholders(bridged or address)[0]
        command = () if endpoint else safe_command(entry, words) if words else ()
        if self._is_api() or not (endpoint or command):
            self._refuse()
        if endpoint and not bridged:
            self._read_headers()
        headers = build_header_templates(entry, self._headers)
        self._read_variables(endpoint and (bridged or address), words, headers)
        self._tell_what_is_left_out()
        return IntegrationDescriptor(
            slug=slug or slug_for(self._name),
            kind="mcp",
            title=entry.name("title", "displayName")
            or server_title(entry.name("name") or entry.cleaned(self._name, "name")),
            description=entry.text("description"),
            transport=self._transport(endpoint, bridged, words),
            endpoint=endpoint,
            command=command,
            required_secrets=distinct(
                (name for name, variable in self._variables.items() if variable["required"]),
                entry.document.limits.secret_name,
            ),
            source_ref={
                "format": "mcp.json",
                "file": entry.document.file,
                "name": entry.cleaned(self._name, "name"),
                **({"headers": headers.templates} if headers.templates else {}),
                **self._told_variables(),
            },
        )

    def _address(self, key: str) -> str:
        """Return the address, in which each secret is a gap: its value is asked for."""
        raw = self._connection.raw(key)
        fits = isinstance(raw, str) and len(raw) <= self._entry.document.limits.address
        [gapped] = name_secrets((raw,)) if fits else [raw]
        if gapped == raw or not re.match(r"https?://[^\[]", gapped, re.IGNORECASE):
            return read_web_address(self._connection, key)
        self._entry.report(key, "contained a secret, which was left out: enter it as a secret")
        linked = Entry({key: gapped}, document=self._entry.document, at=self._entry.at)
        return read_web_address(linked, key)

    def _is_api(self) -> bool:
        return self._entry.name("type") == "openapi" or self._entry.raw("specPath") is not None

    def _refuse(self) -> NoReturn:
        """Raise RefusedError with the reason why there is nothing to start or reach."""
        entry = self._entry
        if self._is_api():
            raise RefusedError("is an API: add the address of its OpenAPI document", entry.at)
        if entry.name("type") in ("builtin", "platform", "frontend", "inline_python", "inMemory"):
            raise RefusedError("is a part of its client, not a server", entry.at)
        if entry.raw("settings") is not None or entry.raw("extension") is not None:
            raise RefusedError(
                "is started by an extension of its client, which says no command", entry.at
            )
        raise RefusedError("needs a command or an address (url)", entry.at)

    def _transport(self, endpoint: str, bridged: str, words: tuple[str, ...]) -> Any:
        if not endpoint:
            return "stdio"
        if bridged:
            is_sse = "sse-only" in words or "--sse" in words or bridged.rstrip("/").endswith("/sse")
            return "sse" if is_sse else "http"
        is_sse = self._connection.raw("sseUrl") is not None
        kind = self._connection.name(*_TYPES) or ("sse" if is_sse else "")
        return parse_transport(kind, endpoint=endpoint)

    def _command(self) -> tuple[str, ...]:
        """Return program and arguments; the shell around a plain command is taken off."""
        source, key = (
            self._connection,
            next((key for key in _PROGRAMS if self._connection.raw(key) is not None), "command"),
        )
        if self._program is not None:
            source, key = self._program, "path"
        raw = source.raw(key)
        words = source.texts(key) if isinstance(raw, list) else command_words(source.text(key))
        arguments = source.raw("args")
        if isinstance(arguments, str):
            words = (*words, *command_words(f"- {arguments}")[1:])
        else:
            words = (*words, *source.texts("args"))
        launch = Launch.read(words)
        for name, value in launch.environment.items():
            if value or name not in self._environment:
                self._environment[name] = value
        for defect in launch.left_out:
            self._entry.report(defect.field, defect.reason)
        return self._with_gaps(normalize_variables(word) for word in launch.words)

    def _with_gaps(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return words in which each secret is a gap: its value is asked for."""
        words = tuple(words)
        gapped = name_secrets(words)
        for place in (at for at, word in enumerate(words) if word != gapped[at]):
            self._entry.report(
                f"command[{place}]", "contained a secret, which was left out: enter it as a secret"
            )
        return gapped

    def _unbridge(self, words: tuple[str, ...]) -> str:
        """Return the address that a bridge is started for, and take over its headers; else ""."""
        if not any(map(_BRIDGES.fullmatch, words[:4])):
            return ""
        address = next((word for word in words if re.match(r"https?://", word)), "")
        if not address:
            return ""
        for option, value in pairwise(words):
            if option == "--oauth2Bearer":
                self._headers.append(Header("Authorization", f"Bearer {value}"))
            elif option in ("--header", "-H", "--headers"):
                name, _, text = value.partition(":")
                gaps = find_placeholders(text)
                scheme = _SCHEME.match(self._environment.get(gaps[0], "")) if gaps else None
                text = (scheme.group() if scheme else "") + text.strip()
                self._headers.append(Header(name.strip(), text))
        linked = Entry({"url": address}, document=self._entry.document, at=self._entry.at)
        return read_web_address(linked, "url")

    def _read_headers(self) -> None:
        """Collect headers, and the token that a field of its own holds."""
        connection = self._connection
        for source in (connection, *self._nested("requestOptions"), *self._nested("requestInit")):
            for key in _HEADERS:
                self._headers += [Header(*pair) for pair in read_pairs(source.raw(key))]
        for header in [header for header in self._headers if _OF_PERSON.search(header.value)]:
            self._headers.remove(header)
            self._entry.report("headers", "names the person of the client, who is not sent")
        for name, variable in read_pairs(connection.raw("envHttpHeaders")):
            self._headers.append(Header(name, f"${{{variable}}}"))
        if variable := connection.name("bearerTokenEnvVar"):
            self._headers.append(Header("Authorization", f"Bearer ${{{variable}}}"))
        # LibreChat says in a mapping that each person has a key of their own.
        tokens = (connection.raw(key) for key in _TOKENS)
        token = next((text for text in tokens if text and isinstance(text, str)), "")
        of_person = connection.raw("apiKey")
        is_described = isinstance(of_person, dict)
        kind = plain_key(self._entry.name("authType"))
        kind = plain_key(str(of_person.get("authorization_type"))) if is_described else kind
        if (token or kind in ("bearer", "bearertoken", "apikey", "basic")) and not any(
            header.name.lower() == "authorization" for header in self._headers
        ):
            gap = token if find_placeholders(token) else "${TOKEN}"
            if kind == "apikey":
                self._headers.append(Header("X-API-Key", gap))
            elif kind == "authorization":  # the whole value
                self._headers.append(Header("Authorization", gap))
            else:
                scheme = "Basic" if kind == "basic" else "Bearer"
                self._headers.append(Header("Authorization", f"{scheme} {gap}"))

    def _nested(self, key: str) -> tuple[Entry, ...]:
        nested = self._entry.mapping(key)
        return (nested,) if nested else ()

    def _read_environment(self) -> dict[str, str]:
        """Return the variables of the program with their values; "" where only names are given."""
        values: dict[str, str] = {}
        sources = (self._connection, self._entry, *([self._program] if self._program else ()))
        for source in sources:
            for key in (*_VARIABLES, *_VARIABLE_NAMES):
                values |= dict(read_pairs(source.raw(key)))
        return values

    def _read_variables(
        self, address: str, words: tuple[str, ...], headers: HeaderTemplates
    ) -> None:
        """Collect variables of environment, headers, arguments and address, with their prompts."""
        texts = [address, *(header.value for header in self._headers)]
        texts += [*self._entry.texts("args"), *self._environment.values()]
        defaults = {name: value for text in texts for name, value in find_defaults(text)}
        is_program = not address or not any(map(_BRIDGES.fullmatch, words[:4]))
        for name, value in self._environment.items() if is_program else ():
            if _OF_PERSON.search(value):
                self._entry.report(name, "names the person of the client, who is not sent")
                continue
            referred = find_placeholders(value)
            is_gap = bool(referred) and not strip_placeholders(value).strip()
            if is_gap:
                self._add_variable(name, defaults.get(referred[0]), asked_as=referred[0])
            else:
                self._add_variable(name, value or None)
        gaps = (gap for text in (*words, address) for gap in find_placeholders(text))
        for name in (*headers.names, *gaps):
            self._add_variable(name, defaults.get(name), asked_as=name)

    def _add_variable(self, name: str, value: str | None, *, asked_as: str = "") -> None:
        """Add a variable that needs a value; one that is no secret keeps the value it has."""
        name = str(self._entry.cleaned(name, "env"))
        if name in _LOCAL_VARIABLES or name in self._variables or not name:
            return
        limits = self._entry.document.limits
        prompt = self._prompts.get(asked_as) or {}
        if isinstance(prompt.get("default"), str) and prompt["default"]:
            value = prompt["default"]
        is_setting = value is not None and is_plain_setting(name, value)
        self._variables[name] = build_variable(
            self._entry,
            name,
            description=str(self._entry.cleaned(str(prompt.get("description") or ""), "inputs"))[
                : limits.reason
            ],
            secret=not (is_setting or prompt.get("options") or prompt.get("password") is False),
            default=value,
            choices=prompt.get("options"),
        )

    def _told_variables(self) -> JSONObject:
        """Return the variables that more is known of than that they are secrets."""
        more = [v for v in self._variables.values() if v["description"] or not v["secret"]]
        return {"variables": list(self._variables.values())} if more else {}

    def _tell_what_is_left_out(self) -> None:
        """Report each field that Pegboard has no place for, and a server that is switched off."""
        entry = self._entry
        nested = entry.raw("config")
        config = entry.mapping("config") if isinstance(nested, dict) else None
        flags = (
            entry.raw("enabled", "isActive", "active"),
            config.raw("enable") if config else None,
        )
        if entry.raw("disabled") in (True, "true") or not {False, "false"}.isdisjoint(flags):
            entry.report("disabled", "says that it is off: it runs only if it is installed")
        for key, value in (*entry.items(), *(config.items() if config else ())):
            plain = plain_key(key)
            words = value if isinstance(value, str) else canonical_json(value)
            is_local = set(find_placeholders(words)) & _LOCAL_VARIABLES
            if plain in _READ or is_local or value in (None, "", [], {}, False, "false", ["*"]):
                continue
            if _RIGHTS.fullmatch(plain):
                words = redact_text(words[:200])
                entry.report(key, f"says who may use what; give this right yourself: {words}")
            elif plain in ("cwd", "workingdirectory"):
                entry.report(key, "is a folder of another machine, and is left out")
            elif plain == "envfile":
                entry.report(key, "is a file of another machine: enter its values as secrets")
            elif _SIGN_IN.fullmatch(plain):
                entry.report(
                    key, "is a sign-in of the client: connect an account after the installation"
                )
            else:
                entry.report(key, "is no setting of Pegboard, and is left out")


def read_pairs(value: Any) -> list[tuple[str, str]]:
    """Return names and values of a map, a list of mappings, `NAME=value` texts, or names."""
    value = resolve_types(value)
    if isinstance(value, dict):
        return [(str(name), _plain(inner)) for name, inner in value.items()]
    pairs: list[tuple[str, str]] = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            name = item.get("name") or item.get("key")
            pairs += [(str(name), _plain(item.get("value", "")))] if name else []
        elif isinstance(item, str) and item:
            name, _, text = re.split(r"([=:]|\Z)", item, maxsplit=1)
            pairs.append((name.strip(), text.strip()))
    return pairs


def _plain(value: Any) -> str:
    """Return a value as it is written in an environment: `true`, not `True`."""
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value)
