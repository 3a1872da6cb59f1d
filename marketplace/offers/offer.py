"""Offers: plain values that every source's entries become before they are stored as listings."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from acl.platform.answer_model import Answer, Shown
from catalog.capabilities.detail_levels import short_description
from catalog.effects.classifier import assess, declared_effect
from catalog.formats.categories import resolve_category
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, JSONObject
from catalog.formats.files import RefusedError
from catalog.formats.package_names import check_constraint

# Locations of sources: public https URLs, archives of repositories, and allowed folders.
#
# We never run `git`: only the guarded HTTP client goes out.

# Errors of reading a source, with messages that say what to do.


class SourceProblemError(Exception):
    """The source as a whole cannot be read. `reason` is a code for machines."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class NotModifiedError(Exception):
    """The source did not change since the last reading."""


class LocationNotAllowedError(Exception):
    """Path that does not exist, or is not below a folder in PEGBOARD_SOURCE_DIRS."""

    code = "location_not_allowed"

    def __init__(self) -> None:
        super().__init__(
            _("A path on this machine must be below a folder that PEGBOARD_SOURCE_DIRS allows.")
        )


# URL templates for the archive of a commit or branch, by host.
_FORGES = {
    "github.com": "https://codeload.github.com/{path}/tar.gz/{ref}",
    "gitlab.com": "https://gitlab.com/{path}/-/archive/{ref}/archive.tar.gz",
    "codeberg.org": "https://codeberg.org/{path}/archive/{ref}.tar.gz",
    "bitbucket.org": "https://bitbucket.org/{path}/get/{ref}.tar.gz",
}
NO_ARCHIVE = "is neither an archive (.tar.gz, .zip) nor a repository on a supported Git host"
ARCHIVES = (".tar.gz", ".tgz", ".zip")
_TREE = re.compile(r"/(?:-/)?tree/(?P<ref>[^/]+)(?:/(?P<folder>(?s:.+)))?\Z")
# Names of dots only ("..") would lead to another repository.
_PART = re.compile(r"(?!\.+$)[\w.-]{1,100}")


def resolve_allowed_path(location: str) -> Path:
    """Return the resolved path if it is below an allowed folder; else LocationNotAllowedError."""
    # Links are resolved first, so that none can lead out of the allowed folder.
    try:
        path = Path(location).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise LocationNotAllowedError from None
    if not any(
        path.is_relative_to(Path(folder).resolve()) for folder in settings.PEGBOARD_SOURCE_DIRS
    ):
        raise LocationNotAllowedError
    return path


def archive_url(address: str, *, ref: str = "") -> str:
    """Return the URL of a repository's archive, or the address itself."""
    parts = urlsplit(address)
    if parts.path.endswith(ARCHIVES):
        return address
    form = _FORGES.get(parts.hostname or "")
    tree = _TREE.search(parts.path)
    path = _TREE.sub("", parts.path).strip("/").removesuffix(".git")
    names = path.split("/")
    if form is None or len(names) < 2 or not all(map(_PART.fullmatch, names)):
        raise RefusedError(NO_ARCHIVE)
    revision = ref or (tree["ref"] if tree else "HEAD")
    return form.format(path=path, ref=quote(revision, safe="/.-_"))


def folder_in_url(address: str) -> str:
    """Return the folder within the repository that the address points to, or ""."""
    tree = _TREE.search(urlsplit(address).path)
    return (tree["folder"] or "").strip("/") if tree else ""


_OFFERED = ("default", "choices")  # of a variable
_MOST_TOOLS = 200
_MOST_DESCRIPTION = 300  # characters of a tool's description


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A file of a skill's folder, by its path within the folder."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Offer:
    """A version of an entry. `key` is the source's stable identifier of the entry."""

    key: str
    descriptor: IntegrationDescriptor
    category: str = ""
    tags: tuple[str, ...] = ()
    readme: str = ""
    repository: str = ""
    tools: tuple[JSONObject, ...] = ()
    status: str = "active"
    is_latest: bool = True
    published_at: datetime | None = None
    files: tuple[OfferedFile, ...] = ()
    details: JSONObject = field(default_factory=dict)


def offer_of(
    descriptor: IntegrationDescriptor, capabilities: Iterable[Descriptor] = (), **more: Any
) -> Offer:
    """Build an offer from a parsed descriptor; `more` overrides what the descriptor says."""
    source_ref = descriptor.source_ref
    own_capabilities = tuple(
        capability for capability in capabilities if capability.integration == descriptor.slug
    )
    values: dict[str, Any] = {
        "key": str(source_ref.get("name") or descriptor.slug),
        "category": _category(descriptor, own_capabilities),
        "tags": tuple(source_ref.get("tags") or ()),
        "repository": str(source_ref.get("repository") or ""),
        "tools": _tools(own_capabilities) or _tools_by_name(source_ref.get("tools")),
    }
    return Offer(descriptor=descriptor, **values | more)


def needs_of(descriptor: IntegrationDescriptor) -> JSONObject:
    """Return what it needs: variables, the program to start, and the hosts it connects to."""
    described = {
        variable["name"]: variable for variable in descriptor.source_ref.get("variables") or ()
    }
    names = dict.fromkeys((*descriptor.required_secrets, *described))
    listed_hosts = [str(host) for host in descriptor.source_ref.get("hosts") or ()]
    try:
        endpoint_host = urlsplit(descriptor.endpoint).hostname if descriptor.endpoint else None
    except ValueError:
        endpoint_host = None
    return {
        "variables": [
            {
                "name": name,
                "description": str(described.get(name, {}).get("description", "")),
                "secret": bool(described.get(name, {}).get("secret", True)),
                "required": name in descriptor.required_secrets,
                **{key: described[name][key] for key in _OFFERED if key in described.get(name, {})},
            }
            for name in names
        ],
        "program": descriptor.command[0] if descriptor.command else "",
        "hosts": list(dict.fromkeys(filter(None, (endpoint_host, *listed_hosts)))),
    }


def _category(descriptor: IntegrationDescriptor, capabilities: tuple[Descriptor, ...]) -> str:
    """Return the declared category, else its tools' most common one, else infer it."""
    declared = str(descriptor.source_ref.get("category") or "")
    categories = [
        capability.category
        for capability in capabilities
        if capability.category not in ("", "other")
    ]
    common = max(categories, key=categories.count, default="")
    title, description = descriptor.title, descriptor.description
    return resolve_category(declared or common, name=title, description=description)[0]


def _tools(capabilities: tuple[Descriptor, ...]) -> tuple[JSONObject, ...]:
    return tuple(
        {
            "name": capability.action,
            "title": capability.display_name,
            "description": short_description(capability.description, _MOST_DESCRIPTION),
            "side_effect": assess(capability, declared=declared_effect(capability)).effect,
        }
        for capability in capabilities[:_MOST_TOOLS]
        if capability.kind == "tool"
    )


def _tools_by_name(names: Any) -> tuple[JSONObject, ...]:
    """Return tools for a source that lists only their names, or the effect of each as well."""
    listed = names if isinstance(names, list) else []
    return tuple(
        {"name": str(name_or_tool)}
        if not isinstance(name_or_tool, dict) or not {"name", "effect"} <= name_or_tool.keys()
        else {"name": str(name_or_tool["name"]), "side_effect": str(name_or_tool["effect"])}
        for name_or_tool in listed[:_MOST_TOOLS]
    )


WORKING = ("ready", "needs_secret")
ADDED = "added"  # the type of a reference to what was added by hand
_TRUSTED = ("starter", ADDED)
FINDINGS = "tested"  # their name in a listing's details, and in the reference of its descriptor


# Findings of `make atlas` come with Pegboard, in the starter collection; what an admin adds by
# hand gets those of the same package. They are no claims of a source.
@dataclass(frozen=True, slots=True)
class PackageTest(Answer):
    """A test of a listing's package: in its cell, without network, with made-up secrets."""

    version: Annotated[str, Shown("The version that was tested.")]
    tested_on: date
    state: Annotated[
        str, Shown("`needs_secret`: it was started with made-up ones.", choices=WORKING)
    ]
    bounds: Annotated[tuple[str, ...], Shown("Bounds on what it requires, such as `name<2`.")] = ()
    called: Annotated[str, Shown("A tool whose call succeeded, or empty.")] = ""
    hosts: Annotated[tuple[str, ...], Shown("Hosts that it tried to reach.")] = ()
    packages: Annotated[int, Shown("Number of packages, with what it requires.")] = 0
    megabytes: Annotated[float, Shown("Size on disk.")] = 0.0
    seconds: Annotated[float, Shown("Duration of the installation.")] = 0.0


def read_package_test(reference: Mapping[str, Any]) -> PackageTest | None:
    """Return the findings in a listing's details or a descriptor's reference; None without any."""
    findings = reference.get(FINDINGS) if reference.get("type") in _TRUSTED else None
    return _package_test(findings) if isinstance(findings, dict) else None


def parse_findings(text: str | None) -> PackageTest | None:
    """Return the findings in the JSON of a card's row."""
    return _package_test(json.loads(text)) if text else None


def _package_test(findings: Mapping[str, Any]) -> PackageTest:
    return PackageTest(
        version=findings["version"],
        tested_on=date.fromisoformat(findings["tested_on"]),
        state=findings["state"],
        bounds=tuple(findings.get("bounds", ())),
        called=findings.get("called", ""),
        hosts=tuple(findings.get("hosts", ())),
        packages=findings["packages"],
        megabytes=findings["megabytes"],
        seconds=findings["seconds"],
    )


def known_bounds(reference: Mapping[str, Any], version: str) -> list[str]:
    """Return the bounds with which exactly this version is known to work."""
    test = read_package_test(reference)
    if test is None or test.version != version:
        return []
    return sorted({check_constraint(bound) for bound in test.bounds})
