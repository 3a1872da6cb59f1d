"""Set-ups of MCP clients, each in the format of its documentation.

Nothing here reads a key: set-ups name the environment variable or the prompt that holds it.
"""

import json
import shlex
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import yaml
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

KEY_VARIABLE = "PEGBOARD_KEY"
_PLACEHOLDER = "pb_…"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
Text = str | Promise


@dataclass(frozen=True, slots=True)
class ClientAddress:
    """An address of Pegboard with its name in the client."""

    name: str
    address: str
    by_key: bool = True  # otherwise the client signs in by OAuth


@dataclass(frozen=True, slots=True)
class Setup:
    """Text to copy, and where it goes. `link` opens the client with all of it filled in."""

    where: Text
    text: str
    link: str = ""
    fields: tuple[tuple[Text, Text], ...] = ()
    note: Text = ""


@dataclass(frozen=True, slots=True)
class AssistantClient:
    """An MCP client with its set-up."""

    slug: str
    title: str
    set_up: Callable[[ClientAddress], Setup]
    signs_in: bool = True


def _claude_desktop(to: ClientAddress) -> Setup:
    """Add a connector, which takes OAuth only; with a key a program in between sends it."""
    if not to.by_key:
        return Setup(
            where=_("Settings, Connectors, Add custom connector: paste this as the URL."),
            text=to.address,
            note=_("Anthropic's servers must be able to reach this address by HTTPS."),
        )
    remote = urlsplit(to.address)
    insecure = remote.scheme == "http" and remote.hostname not in _LOOPBACK
    arguments = ["-y", "mcp-remote", to.address, "--header", "Authorization:${AUTH_HEADER}"]
    server = {
        "command": "npx",
        "args": [*arguments, *(["--allow-http"] if insecure else [])],
        "env": {"AUTH_HEADER": f"Bearer {_PLACEHOLDER}"},
    }
    return Setup(
        where=_("Settings, Developer, Edit Config: claude_desktop_config.json"),
        text=_json({"mcpServers": {to.name: server}}),
        note=_("This needs Node.js. Replace pb_… with the key, and start Claude again."),
    )


def _claude_code(to: ClientAddress) -> Setup:
    header = f' \\\n  --header "Authorization: Bearer ${KEY_VARIABLE}"' if to.by_key else ""
    return Setup(
        where=_("Run this in a terminal"),
        text=f"claude mcp add --transport http {to.name} {shlex.quote(to.address)}{header}",
        note="" if to.by_key else _("Then choose it in /mcp and select Authenticate."),
    )


def _cursor(to: ClientAddress) -> Setup:
    server = {"url": to.address, **_headers(to, "${env:%s}")}
    packed = b64encode(json.dumps(server).encode()).decode()
    query = urlencode({"name": to.name, "config": packed})
    return Setup(
        where=_("~/.cursor/mcp.json, or .cursor/mcp.json in a project"),
        text=_json({"mcpServers": {to.name: server}}),
        link=f"cursor://anysphere.cursor-deeplink/mcp/install?{query}",
    )


def _vs_code(to: ClientAddress) -> Setup:
    """Make VS Code ask for the key, which it keeps with its secrets."""
    server = {"type": "http", "url": to.address}
    key_input = {"type": "promptString", "id": "pegboard-key", "password": True,
             "description": "Pegboard API key"}  # fmt: skip
    inputs: dict[str, Any] = {}
    if to.by_key:
        server |= {"headers": {"Authorization": "Bearer ${input:pegboard-key}"}}  # type: ignore[dict-item]
        inputs = {"inputs": [key_input]}
    packed = quote(json.dumps({"name": to.name, **server, **inputs}), safe="")
    return Setup(
        where=_(".vscode/mcp.json, or the command MCP: Open User Configuration"),
        text=_json({**inputs, "servers": {to.name: server}}),
        link=f"vscode:mcp/install?{packed}",
    )


def _windsurf(to: ClientAddress) -> Setup:
    server = {"serverUrl": to.address, **_headers(to, "${env:%s}")}
    return Setup(
        where=_("~/.codeium/windsurf/mcp_config.json"),
        text=_json({"mcpServers": {to.name: server}}),
    )


def _goose(to: ClientAddress) -> Setup:
    extension = {
        "enabled": True,
        "type": "streamable_http",
        "name": to.name,
        "uri": to.address,
        **({"headers": {"Authorization": f"Bearer {_PLACEHOLDER}"}} if to.by_key else {}),
        "timeout": 300,
    }
    query = {"type": "streamable_http", "url": to.address, "id": to.name, "name": to.name}
    query |= {"description": "Tools of Pegboard"}
    # A link with a placeholder for the key would store the placeholder.
    link = "" if to.by_key else f"goose://extension?{urlencode(query, quote_via=quote)}"
    return Setup(
        where=_("~/.config/goose/config.yaml"),
        text=_yaml({"extensions": {to.name: extension}}),
        link=link,
        note=_("Replace pb_… with the key.") if to.by_key else "",
    )


def _gemini_cli(to: ClientAddress) -> Setup:
    server = {"httpUrl": to.address, **_headers(to, "$%s")}
    return Setup(
        where=_("~/.gemini/settings.json, or .gemini/settings.json in a project"),
        text=_json({"mcpServers": {to.name: server}}),
        note="" if to.by_key else _("Then run /mcp auth %(name)s.") % {"name": to.name},
    )


def _codex(to: ClientAddress) -> Setup:
    lines = [f"[mcp_servers.{to.name}]", f"url = {json.dumps(to.address)}"]
    lines += [f'bearer_token_env_var = "{KEY_VARIABLE}"'] if to.by_key else []
    return Setup(
        where=_("~/.codex/config.toml"),
        text="\n".join(lines),
        note="" if to.by_key else _("Then run codex mcp login %(name)s.") % {"name": to.name},
    )


def _open_webui(to: ClientAddress) -> Setup:
    auth = (_("Bearer, with the key")) if to.by_key else "OAuth 2.1"
    return Setup(
        where=_("Admin Settings, External Tools, Add Server: paste this as the URL."),
        text=to.address,
        fields=((_("Type"), "MCP (Streamable HTTP)"), (_("Auth"), auth)),
        note=_("A key acts for its owner, whoever chats.") if to.by_key else "",
    )


def _librechat(to: ClientAddress) -> Setup:
    """Make LibreChat ask everyone for a key of their own."""
    server: dict[str, Any] = {"type": "streamable-http", "url": to.address}
    if to.by_key:
        key_field = {"title": "Pegboard API key", "description": "Your own key of Pegboard."}
        server |= {
            "headers": {"Authorization": f"Bearer {{{{{KEY_VARIABLE}}}}}"},
            "customUserVars": {KEY_VARIABLE: key_field},
        }
    return Setup(where=_("librechat.yaml"), text=_yaml({"mcpServers": {to.name: server}}))


def _n8n(to: ClientAddress) -> Setup:
    auth = _("Bearer Auth, with the key") if to.by_key else "MCP OAuth2"
    return Setup(
        where=_("Node MCP Client Tool: paste this as the endpoint."),
        text=to.address,
        fields=((_("Server transport"), "HTTP Streamable"), (_("Authentication"), auth)),
    )


CLIENTS = (
    AssistantClient("claude-desktop", "Claude Desktop", _claude_desktop),
    AssistantClient("claude-code", "Claude Code", _claude_code),
    # It registers a redirect to `cursor://`, which any program on the machine may claim.
    AssistantClient("cursor", "Cursor", _cursor, signs_in=False),
    AssistantClient("vs-code", "VS Code", _vs_code),
    AssistantClient("windsurf", "Windsurf", _windsurf),
    AssistantClient("goose", "Goose", _goose),
    AssistantClient("gemini-cli", "Gemini CLI", _gemini_cli),
    AssistantClient("codex", "Codex", _codex),
    AssistantClient("open-webui", "Open WebUI", _open_webui),
    AssistantClient("librechat", "LibreChat", _librechat),
    AssistantClient("n8n", "n8n", _n8n),
)


def _headers(to: ClientAddress, variable: str) -> Mapping[str, Any]:
    """Return the headers with the key's variable as the client writes it; none for OAuth."""
    if not to.by_key:
        return {}
    return {"headers": {"Authorization": f"Bearer {variable % KEY_VARIABLE}"}}


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1_000).rstrip()
