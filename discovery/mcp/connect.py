"""Page of the set-up of MCP clients: an address, a client, and text to copy.

Each set-up has the format of its client's documentation. Nothing here reads a key: set-ups name the
environment variable or the prompt that holds it.
"""

import json
import shlex
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import yaml
from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from acl.keys.listing import usable_keys_of
from acl.models import Space
from acl.rights.caller_lookup import Caller
from acl.web.frame import PageRequest, frame_of, render_page
from catalog.models import Integration
from discovery.mcp.metatool_api import may_call
from discovery.mcp.server.runnable_tools import runnable_tools
from discovery.metatools import META_TOOLS

# MCP addresses of a person, to give to a client, with the number of tools behind each.

MOST_SEEN = 12  # assistants, those that were there last
MOST_SHOWN = 200  # integrations or spaces to choose from; others are found by their address


@dataclass(frozen=True, slots=True)
class Address:
    """An MCP address, and the caller as whom a key asks there."""

    path: str
    kind: str  # "everything", "space" or "integration"
    caller: Caller
    title: str = ""
    group: str = ""
    tools: int = 0

    @property
    def client_name(self) -> str:
        """Name of the connection in clients: letters, digits and hyphens."""
        last = self.path.partition("?")[0].rpartition("/")[2]
        return "pegboard" if self.kind == "everything" else f"pegboard-{last}".replace("_", "-")


@dataclass(frozen=True, slots=True)
class ToolCount:
    """Tools that a client is shown at an address: meta-tools, and the caller's own."""

    usable: int
    listed: int
    meta_tools: int = 0

    @property
    def all(self) -> int:
        """Return the number that *My tools* shows where all of them run here."""
        return self.usable + self.meta_tools

    @property
    def is_choice(self) -> bool:
        """True if the list holds a choice of the tools."""
        return self.listed < self.usable


def list_addresses(caller: Caller) -> list[Address]:
    """Return the addresses that the caller may use, by three statements."""
    everything = Address(reverse("mcp"), "everything", caller)
    return [everything, *_spaces(caller), *_integrations(caller)]


def count_tools(person: User, address: Address) -> ToolCount:
    """Count what the address lists."""
    if address.kind == "integration":
        return ToolCount(address.tools, address.tools)
    meta_tools = sum(may_call(person, tool) for tool in META_TOOLS.values())
    usable = runnable_tools(address.caller).connected().count()
    return ToolCount(usable, min(usable, settings.PEGBOARD_MCP_TOOLS), meta_tools)


def _integrations(caller: Caller) -> list[Address]:
    counted = runnable_tools(caller).order_by().values_list("integration_id").annotate(Count("pk"))
    counts: dict[int, int] = dict(counted)
    rows = Integration.objects.filter(pk__in=counts).order_by("title", "pk")[:MOST_SHOWN]
    return [
        Address(
            reverse("mcp-integration", args=[row.slug]),
            "integration",
            caller,
            title=row.title,
            tools=counts[row.pk],
        )
        for row in rows
    ]


def _spaces(caller: Caller) -> list[Address]:
    """Return the spaces below the roots. Where several groups have one of a name, the address
    names the group."""
    rows = Space.objects.filter(group__in=caller.group_ids).select_related("group")
    spaces = list(rows.order_by("group__name", "name", "pk")[:MOST_SHOWN])
    names = Counter(row.slug for row in spaces)
    below = (row for row in spaces if row.parent_id is not None)
    return [_space_address(caller, row, is_shared=names[row.slug] > 1) for row in below]


def _space_address(caller: Caller, row: Space, *, is_shared: bool) -> Address:
    others = tuple(pk for pk in caller.group_ids if pk != row.group_id)
    query = f"?{urlencode({'group': row.group.name})}" if is_shared else ""
    return Address(
        reverse("mcp-space", args=[row.slug]) + query,
        "space",
        replace(
            caller,
            group_id=row.group_id,
            space_id=row.pk,
            other_groups=() if is_shared else others,
        ),
        title=row.name,
        group=row.group.name,
    )


class ConnectForm(forms.Form):
    """Address, client and credential; unknown ones mean the first."""

    address = forms.CharField(required=False, max_length=300)
    client = forms.CharField(required=False, max_length=40)
    key = forms.BooleanField(required=False)


@login_required
@require_GET
def connect(request: PageRequest) -> HttpResponse:
    """Show the set-up of one client for one address."""
    # A key acts in all groups of its owner together.
    frame = frame_of(request)
    if frame.everywhere is None:
        title = _("Connect an assistant")
        return render_page(request, "no_group.html", {"title": title}, frame=frame)
    form = ConnectForm(request.GET)
    form.full_clean()
    addresses = list_addresses(frame.everywhere)
    path = form.cleaned_data.get("address", "")
    address = next((address for address in addresses if address.path == path), addresses[0])
    slug = form.cleaned_data.get("client", "")
    client = next((client for client in CLIENTS if client.slug == slug), CLIENTS[0])
    can_sign_in = settings.PEGBOARD_OAUTH and client.signs_in
    by_key = not can_sign_in or bool(form.cleaned_data.get("key"))
    connection = ClientAddress(
        address.client_name, request.build_absolute_uri(address.path), by_key=by_key
    )
    context: dict[str, object] = {
        "addresses": addresses,
        "address": address,
        "url": connection.address,
        "count": count_tools(request.user, address),
        "clients": CLIENTS,
        "client": client,
        "can_sign_in": can_sign_in,
        "by_key": by_key,
        "setup": client.set_up(connection),
        # Of clients that signed in, and of keys for those that cannot.
        "seen": usable_keys_of(request.user)[:MOST_SEEN],
    }
    template = "tools/connect.html" + ("#setup" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


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
            where=gettext_lazy(
                "Settings, Connectors, Add custom connector: paste this as the URL."
            ),
            text=to.address,
            note=gettext_lazy("Anthropic's servers must be able to reach this address by HTTPS."),
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
        where=gettext_lazy("Settings, Developer, Edit Config: claude_desktop_config.json"),
        text=_json({"mcpServers": {to.name: server}}),
        note=gettext_lazy("This needs Node.js. Replace pb_… with the key, and start Claude again."),
    )


def _claude_code(to: ClientAddress) -> Setup:
    header = f' \\\n  --header "Authorization: Bearer ${KEY_VARIABLE}"' if to.by_key else ""
    return Setup(
        where=gettext_lazy("Run this in a terminal"),
        text=f"claude mcp add --transport http {to.name} {shlex.quote(to.address)}{header}",
        note="" if to.by_key else gettext_lazy("Then choose it in /mcp and select Authenticate."),
    )


def _cursor(to: ClientAddress) -> Setup:
    server = {"url": to.address, **_headers(to, "${env:%s}")}
    packed = b64encode(json.dumps(server).encode()).decode()
    query = urlencode({"name": to.name, "config": packed})
    return Setup(
        where=gettext_lazy("~/.cursor/mcp.json, or .cursor/mcp.json in a project"),
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
        where=gettext_lazy(".vscode/mcp.json, or the command MCP: Open User Configuration"),
        text=_json({**inputs, "servers": {to.name: server}}),
        link=f"vscode:mcp/install?{packed}",
    )


def _windsurf(to: ClientAddress) -> Setup:
    server = {"serverUrl": to.address, **_headers(to, "${env:%s}")}
    return Setup(
        where=gettext_lazy("~/.codeium/windsurf/mcp_config.json"),
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
        where=gettext_lazy("~/.config/goose/config.yaml"),
        text=_yaml({"extensions": {to.name: extension}}),
        link=link,
        note=gettext_lazy("Replace pb_… with the key.") if to.by_key else "",
    )


def _gemini_cli(to: ClientAddress) -> Setup:
    server = {"httpUrl": to.address, **_headers(to, "$%s")}
    return Setup(
        where=gettext_lazy("~/.gemini/settings.json, or .gemini/settings.json in a project"),
        text=_json({"mcpServers": {to.name: server}}),
        note="" if to.by_key else gettext_lazy("Then run /mcp auth %(name)s.") % {"name": to.name},
    )


def _codex(to: ClientAddress) -> Setup:
    lines = [f"[mcp_servers.{to.name}]", f"url = {json.dumps(to.address)}"]
    lines += [f'bearer_token_env_var = "{KEY_VARIABLE}"'] if to.by_key else []
    return Setup(
        where=gettext_lazy("~/.codex/config.toml"),
        text="\n".join(lines),
        note=""
        if to.by_key
        else gettext_lazy("Then run codex mcp login %(name)s.") % {"name": to.name},
    )


def _open_webui(to: ClientAddress) -> Setup:
    auth = (gettext_lazy("Bearer, with the key")) if to.by_key else "OAuth 2.1"
    return Setup(
        where=gettext_lazy("Admin Settings, External Tools, Add Server: paste this as the URL."),
        text=to.address,
        fields=((gettext_lazy("Type"), "MCP (Streamable HTTP)"), (gettext_lazy("Auth"), auth)),
        note=gettext_lazy("A key acts for its owner, whoever chats.") if to.by_key else "",
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
    return Setup(
        where=gettext_lazy("librechat.yaml"), text=_yaml({"mcpServers": {to.name: server}})
    )


def _n8n(to: ClientAddress) -> Setup:
    auth = gettext_lazy("Bearer Auth, with the key") if to.by_key else "MCP OAuth2"
    return Setup(
        where=gettext_lazy("Node MCP Client Tool: paste this as the endpoint."),
        text=to.address,
        fields=(
            (gettext_lazy("Server transport"), "HTTP Streamable"),
            (gettext_lazy("Authentication"), auth),
        ),
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
