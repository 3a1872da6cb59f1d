"""Resources, prompts and completions of all servers that a caller may use, at one address.

Each has its server's slug before its name, so that names of several servers differ. A name as its
server has it is taken too, where no other server of the caller's has it. Everything is passed on as
at the server's own address: by the same rights, with the same record and limits for each server.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cached_property
from typing import NamedTuple

from django.conf import settings
from mcp_types import Tool
from mcp_types.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND

from acl.platform.strict_json import parse_json, write_json
from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability, Integration
from discovery.calls.server_requests.forwarding import (
    PASSED,
    SUBSCRIPTIONS,
    Passing,
    RequestFailedError,
    forward,
    forward_all,
    passing_servers,
)
from discovery.mcp.server._client_side import ClientSide

SERVER, LEFT_OUT = "pegboard/server", "pegboard/left_out"  # in _meta
# Of one page of a list. A server that takes longer is named as left out.
SERVERS_AT_ONCE, LIST_SECONDS = 25, 10.0
_MOST_PAGES = 20  # that are looked through for a name without its server
RESOURCE_NOT_FOUND = -32002  # of versions before 2026-07-28
_APP, _OTHER = "ui://", "pegboard://"


def publish_name(slug: str, name: str) -> str:
    """Return a prompt's name among those of all servers."""
    return f"{slug}__{name}"


def publish_uri(slug: str, uri: str) -> str:
    """Return a resource's address, or a template of some, among those of all servers.

    Hosts of MCP Apps read addresses of the scheme `ui` only, so these keep it.
    """
    if uri.startswith(_APP):
        return f"{_APP}pegboard/{slug}/{uri.removeprefix(_APP)}"
    return f"{_OTHER}{slug}/{uri}"


def with_app_of(tool: Tool, row: Capability) -> Tool:
    """Return a tool with the address of its app among those of all servers."""
    ui = (tool.meta or {}).get("ui")
    if tool.meta is None or not isinstance(ui, dict) or not isinstance(ui.get("resourceUri"), str):
        return tool
    ui = {**ui, "resourceUri": publish_uri(row.integration.slug, ui["resourceUri"])}
    return tool.model_copy(update={"meta": {**tool.meta, "ui": ui}})


def _own_of(slug: str, published: str, *, is_uri: bool) -> str | None:
    """Return what the server calls it, or None for a name of another server."""
    if not is_uri:
        before = publish_name(slug, "")
        return published.removeprefix(before) if published.startswith(before) else None
    for scheme in (_APP, ""):
        before = publish_uri(slug, scheme)
        if published.startswith(before):
            return scheme + published.removeprefix(before)
    return None


class _List(NamedTuple):
    """A list of a server: the key of its entries, and the field that names each."""

    entries: str
    name: str

    @property
    def is_of_uris(self) -> bool:
        """Return True if its entries have addresses."""
        return self.name != "name"

    def publish(self, slug: str, entry: JSONObject) -> JSONObject:
        """Return an entry of the server's list as it is listed among those of all."""
        publish = publish_uri if self.is_of_uris else publish_name
        meta = {**(entry.get("_meta") or {}), SERVER: slug}
        entry = {**entry, self.name: publish(slug, str(entry.get(self.name))), "_meta": meta}
        if self.entries == "skills" and isinstance(entry.get("resources"), list):
            files = [file for file in entry["resources"] if isinstance(file, dict)]
            entry["resources"] = [
                {**file, "uri": publish(slug, str(file.get("uri")))} for file in files
            ]
        return entry

    def names(self, entry: JSONObject, sought: str) -> bool:
        """Return True if the entry is published as this, is what its server calls so, or has a
        template of it."""
        name = _own_of(entry["_meta"][SERVER], entry[self.name], is_uri=self.is_of_uris) or ""
        if sought in (name, entry[self.name]) or self.name != "uriTemplate":
            return sought in (name, entry[self.name])
        # What a variable stands for may be anything: the parts between come in their order.
        first, *others = re.split(r"\{[^{}]*\}", name)
        if not sought.startswith(first):
            return False
        at = len(first)
        for part in others[:-1]:
            at = sought.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return sought[at:].endswith(others[-1]) if others else at == len(sought)


_LISTS = {
    "resources/list": _List("resources", "uri"),
    "resources/templates/list": _List("resourceTemplates", "uriTemplate"),
    "prompts/list": _List("prompts", "name"),
    "skills/list": _List("skills", "uri"),
}


class _Position(NamedTuple):
    """A place in the lists of all servers. It gives no right: rights are read with each page."""

    after: str = ""  # the last server that was asked
    unfinished: tuple[tuple[str, str], ...] = ()  # servers whose own lists go on, and where

    @classmethod
    def read(cls, cursor: str) -> "_Position":
        """Read a cursor of ours. Raises RequestFailedError."""
        if not cursor:
            return cls()
        try:
            after, unfinished = parse_json(urlsafe_b64decode(cursor))
            places = tuple((str(slug), str(at)) for slug, at in unfinished)
            return cls(str(after), places[:SERVERS_AT_ONCE])
        except (ValueError, TypeError):
            problem = "cursor: it is not one of ours."
            raise RequestFailedError({"code": INVALID_PARAMS, "message": problem}) from None

    def write(self) -> str:
        """Return the cursor of this place."""
        return urlsafe_b64encode(json.dumps(self).encode()).decode()


class CatalogRequests:
    """The requests of one caller to all servers."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @cached_property
    def _servers(self) -> list[Integration]:
        return passing_servers(self._caller)

    @property
    def features(self) -> tuple[str, ...]:
        """Return what one of the servers offers beside tools."""
        offered = {feature for row in self._servers for feature in row.announces}
        return tuple(sorted(offered - {SUBSCRIPTIONS}))

    def forward(self, method: str, params: JSONObject, client: ClientSide) -> JSONObject:
        """List of all servers, or ask the one that is meant. Raises RequestFailedError."""
        if method in _LISTS:
            return self._list(method, str(params.get("cursor") or ""))
        reference = params["ref"] if method == "completion/complete" else params
        field = "uri" if "uri" in reference else "name"
        sought = str(reference[field])
        server, name = self._find(sought, PASSED[method].feature, is_uri=field == "uri")
        inner: JSONObject = {**reference, field: name}
        passing = Passing(server, method, {**params, "ref": inner} if "ref" in params else inner)
        result = forward(
            caller=self._caller,
            passing=passing,
            capabilities=client.capabilities,
            asker=server.title,
        )
        for content in result.get("contents") or ():
            if content.get("uri") == name:
                content["uri"] = sought
        if isinstance(skill := result.get("skill"), dict):
            result = {**result, "skill": _LISTS["skills/list"].publish(server.slug, skill)}
        return result

    def _list(self, method: str, cursor: str) -> JSONObject:
        """Return a page of the lists of all servers."""
        kind, position = _LISTS[method], _Position.read(cursor)
        servers = {row.slug: row for row in self._offering(PASSED[method].feature)}
        batch = [(servers[slug], at) for slug, at in position.unfinished if slug in servers]
        rest = [row for slug, row in servers.items() if slug > position.after]
        batch += [(row, "") for row in rest[: SERVERS_AT_ONCE - len(batch)]]
        passing = [Passing(row, method, {"cursor": at} if at else {}) for row, at in batch]
        results = forward_all(caller=self._caller, passing=passing, seconds=LIST_SECONDS)
        entries: list[JSONObject] = []
        left_out, unfinished, size = [], [], 0
        for (row, at), result in zip(batch, results, strict=True):
            if isinstance(result, RequestFailedError):
                if result.error["code"] != METHOD_NOT_FOUND:  # which says that there are none
                    left_out.append({"server": row.slug, "reason": str(result)})
                continue
            size += len(write_json(result))
            if entries and size > settings.PEGBOARD_RESULT_BYTES:
                unfinished.append((row.slug, at))
                continue
            entries += [kind.publish(row.slug, entry) for entry in result.get(kind.entries) or []]
            if result.get("nextCursor"):
                unfinished.append((row.slug, str(result["nextCursor"])))
        last = max([position.after, *(row.slug for row, at in batch if not at)])
        page: JSONObject = {kind.entries: entries}
        if left_out:
            page["_meta"] = {LEFT_OUT: left_out}
        if unfinished or any(slug > last for slug in servers):
            page["nextCursor"] = _Position(last, tuple(unfinished)).write()
        return page

    def _find(self, sought: str, feature: str, *, is_uri: bool) -> tuple[Integration, str]:
        """Return the server that is meant, and what it calls what was asked for."""
        servers = self._offering(feature)
        names = {row.pk: _own_of(row.slug, sought, is_uri=is_uri) for row in servers}
        owners = [row for row in servers if names[row.pk] is not None] or servers
        if len(owners) > 1:
            owners = self._listing(sought, is_uri=is_uri)
        if len(owners) == 1:
            return owners[0], names.get(owners[0].pk) or sought
        if not owners:
            missing = f"Resource not found: {sought}" if is_uri else f"Unknown prompt: {sought}"
            code = RESOURCE_NOT_FOUND if is_uri else INVALID_PARAMS
            raise RequestFailedError({"code": code, "message": missing[:300]})
        publish = publish_uri if is_uri else publish_name
        choice = ", ".join(publish(row.slug, sought) for row in owners)
        several = f"Several servers have it. Name one: {choice}"
        raise RequestFailedError({"code": INVALID_PARAMS, "message": several[:2_000]})

    def _listing(self, sought: str, *, is_uri: bool) -> list[Integration]:
        """Return the servers that list this, as an entry of their own or by a template."""
        for method, kind in _LISTS.items():
            if kind.is_of_uris != is_uri:
                continue
            cursor, slugs = "", set()
            for _ in range(_MOST_PAGES):
                page = self._list(method, cursor)
                slugs |= {
                    entry["_meta"][SERVER]
                    for entry in page[kind.entries]
                    if kind.names(entry, sought)
                }
                if not (cursor := page.get("nextCursor", "")):
                    break
            if slugs:
                return [row for row in self._servers if row.slug in slugs]
        return []

    def _offering(self, feature: str) -> list[Integration]:
        return [row for row in self._servers if feature in row.announces]
