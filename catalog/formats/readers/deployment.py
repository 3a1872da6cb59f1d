"""Servers as they are deployed: Compose files, Kubernetes' resources, the targets of gateways, the
nodes of workflows. Each is read as a client's configuration of the same servers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from catalog.formats.descriptors import Loaded
from catalog.formats.entry import Document
from catalog.formats.files import DEFAULT_LIMITS, RefusedError, resolve_types
from catalog.formats.loose_text import parse_json_with_comments
from catalog.formats.readers import mcp_json

OF_SERVERS = True
IS_LOOSE = False

Server = dict[str, Any]
_RESOURCES = re.compile(r"(?:Remote|Proxied)?MCP(?:Remote)?(?:Server|Proxy|Entry)|MCPRemoteProxy")
_MCP = re.compile(r"mcp|model-?context", re.IGNORECASE)
_NODE = re.compile(r"mcp(?:client)?(?:tool)?$|custommcp", re.IGNORECASE)
_DEEPEST = 16
# Fields of a service that say how the container is to be run on that machine.
_OF_MACHINE = (
    "volumes",
    "ports",
    "env_file",
    "networks",
    "network_mode",
    "entrypoint",
    "privileged",
)


def recognises(value: Any) -> bool:
    """Return True for services of images, a resource, targets, nodes, or FastMCP's own file."""
    if not isinstance(value, dict):
        return False
    is_known = _services(value) or _is_resource(value) or _is_fastmcp(value)
    return bool(is_known) or any(True for _ in (*_nodes(value), *_targets(value)))


def read(document: Document) -> Loaded:
    """Read each server as a client's configuration of it."""
    value = document.value
    if _is_fastmcp(value):
        raise RefusedError(
            "starts a file of another machine: add the server's package, image or address", "source"
        )
    if services := _services(value):
        servers = dict(_of_services(document, services))
    elif _is_resource(value):
        name = value.get("metadata", {}).get("name") or document.stem
        servers = {str(name): _of_resource(value["spec"])}
    else:
        servers = dict((*_nodes(value), *_targets(value)))
    return mcp_json.read(replace(document, value={"mcpServers": servers}))


def _services(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the services of a Compose file."""
    services = value.get("services")
    is_compose = isinstance(services, dict) and any(
        isinstance(service, dict) and ("image" in service or "build" in service)
        for service in services.values()
    )
    return services if is_compose and services else {}


def _of_services(document: Document, services: Mapping[str, Any]) -> Iterator[tuple[str, Server]]:
    """Yield the services that are servers by their name, image or command, or all where none is."""
    telling = {
        name: service
        for name, service in services.items()
        if isinstance(service, dict)
        and (
            service.get("stdin_open")
            or _MCP.search(f"{name} {service.get('image')} {service.get('command')}")
        )
    }
    for name, service in services.items():
        at = f"services.{name}"
        if telling and name not in telling:
            document.report(at, "is no server by its name, and is left out")
        elif not isinstance(service, dict) or not service.get("image"):
            document.report(at, "is built from a folder of another machine: add its image")
        else:
            for key in filter(service.get, _OF_MACHINE):
                document.report(f"{at}.{key}", "is a matter of another machine, and is left out")
            yield str(name), _container(service["image"], service, "environment", "command")


def _container(image: Any, source: Mapping[str, Any], variables: str, arguments: str) -> Server:
    """Return the server that an image is, with its variables passed on by name."""
    pairs = mcp_json.read_pairs(source.get(variables))
    passed = [word for name, _ in pairs for word in ("-e", name)]
    command = source.get(arguments) or []
    words = command if isinstance(command, list) else mcp_json.command_words(f"- {command}")[1:]
    launch = ["run", "-i", "--rm", *passed, str(image), *map(str, words)]
    return {"command": "docker", "args": launch, "env": dict(pairs)}


def _is_resource(value: Mapping[str, Any]) -> bool:
    is_of_servers = _RESOURCES.fullmatch(str(value.get("kind"))) and "apiVersion" in value
    return bool(is_of_servers) and isinstance(value.get("spec"), dict)


def _of_resource(spec: Mapping[str, Any]) -> Server:
    """Return the server of a resource: an address, a command, or an image."""
    address = next((spec[key] for key in ("url", "remoteURL", "remoteUrl") if key in spec), None)
    if address:
        names = [str(header.get("name")) for header in spec.get("headersFrom") or []]
        return {"url": address, "headers": {name: f"${{{name}}}" for name in names}}
    deployment = spec.get("deployment")
    inner = deployment if isinstance(deployment, dict) else spec
    if inner.get("cmd"):
        return {"command": inner["cmd"], "args": inner.get("args"), "env": inner.get("env")}
    return _container(inner.get("image") or "", inner, "env", "args") if "image" in inner else {}


def _targets(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, Server]]:
    """Yield each target of a gateway: a mapping with a name and one of the ways to reach it."""
    parts = value.items() if isinstance(value, dict) else ((key, part) for part in value)
    for inner, part in parts:
        is_target = isinstance(part, dict) and isinstance(part.get("name"), str)
        if key in ("targets", "mcp") and is_target:
            if any(isinstance(part.get(way), dict) for way in ("stdio", "mcp", "sse", "openapi")):
                yield part["name"], _of_target(part)
        elif isinstance(part, (dict, list)) and depth < _DEEPEST:
            yield from _targets(part, str(inner), depth + 1)


def _of_target(target: Server) -> Server:
    for way in ("stdio", "mcp", "sse"):
        if isinstance(inner := target.get(way), dict):
            if way == "stdio":
                return inner
            host, port, path = inner.get("host", ""), inner.get("port"), inner.get("path", "")
            if "://" not in str(host):
                scheme = "http" if str(port) == "80" else "https"
                at = "" if str(port) in ("None", "80", "443") else f":{port}"
                host = f"{scheme}://{host}{at}/{str(path).lstrip('/')}"
            return {"url": host, "type": "sse" if way == "sse" else "http"}
    return {"type": "openapi"}


def _nodes(value: Mapping[str, Any]) -> Iterator[tuple[str, Server]]:
    """Yield the servers that a workflow's nodes call."""
    nodes = value.get("nodes")
    for node in nodes if isinstance(nodes, list) else ():
        data = node.get("data") if isinstance(node, dict) else None
        data = data if isinstance(data, dict) else {}
        kind = str(data.get("name") or node.get("type")) if isinstance(node, dict) else ""
        if not _NODE.search(kind):
            continue
        fields = resolve_types(data.get("inputs") or node.get("parameters") or {})
        name = str(node.get("name") or node.get("id") or "")
        packed = fields.get("mcpServerConfig")
        if isinstance(packed, str) and packed.strip():
            packed = parse_json_with_comments(packed, max_depth=DEFAULT_LIMITS.json_depth)
        if isinstance(packed, dict):
            yield name, packed
            continue
        address = fields.get("endpointUrl") or fields.get("sseEndpoint") or fields.get("url")
        way = fields.get("serverTransport") or ("sse" if "sseEndpoint" in fields else "http")
        sign_in = str(fields.get("authentication"))
        header = {"bearerAuth": "Bearer ${TOKEN}", "headerAuth": "${AUTHORIZATION}"}.get(sign_in)
        headers = {"headers": {"Authorization": header}} if header else {}
        yield name, {"url": address, "type": "sse" if "sse" in str(way) else "http", **headers}


def _is_fastmcp(value: Mapping[str, Any]) -> bool:
    source = value.get("source")
    fields = {*source, *value} if isinstance(source, dict) and "path" in source else set()
    return not fields.isdisjoint(("entrypoint", "deployment", "environment"))
