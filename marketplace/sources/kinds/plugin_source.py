"""Plugin marketplaces. A plugin is listed as an extension, and what of it can be installed, its
servers and its skills, as listings of their own.

A plugin's files are in the marketplace's repository, or in one of its own, which is fetched as an
archive: a few in each refresh, and one with a commit to its name only once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from catalog.formats.descriptors import Defect, IntegrationDescriptor, JSONObject
from catalog.formats.files import RefusedError, parse_json, read_text, resolve_inside
from catalog.formats.loader import load_value
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.formats.source_folders import shown
from catalog.formats.text_cleanup import clean_name
from catalog.servers.net.guarded_fetch import Bounds
from catalog.servers.net.outgoing_errors import OutgoingError
from marketplace.listings.offers import Offer, offer_of
from marketplace.models import Listing
from marketplace.sources.kinds.plugin_parts import held_by, parts_of
from marketplace.sources.repositories import archive_of
from marketplace.sources.source_files import loaded_files, of_formats, readme_in
from marketplace.sources.source_location import allowed_path
from marketplace.sources.source_problem import SourceProblemError
from marketplace.sources.source_reader import MB, Reading, parsed

FILES = (
    ".claude-plugin/marketplace.json",
    ".github/plugin/marketplace.json",
    ".cursor-plugin/marketplace.json",
    "marketplace.json",
    ".claude-plugin/plugin.json",
    "plugin.json",
)
MOST_ARCHIVES = 25
_ARCHIVE = Bounds(most_bytes=30 * MB, seconds=60)
_MOST_RENAMES = 1_000
_FORMATS = frozenset({"marketplace.json", "plugin.json"})


@dataclass(frozen=True, slots=True)
class _Plugin:
    """One plugin, and what was known of its files at the last reading."""

    integration: IntegrationDescriptor
    known: JSONObject

    @property
    def key(self) -> str:
        return str(self.integration.source_ref["name"])

    @property
    def origin(self) -> JSONObject:
        """Where its files are, as the marketplace says."""
        return dict(self.integration.source_ref.get("source") or {})

    @property
    def is_apart(self) -> bool:
        """Whether its files are in a repository of its own."""
        return bool(self.origin.get("url") or self.origin.get("repo"))

    @property
    def is_known(self) -> bool:
        """Whether the very commit that it names has been read."""
        return bool(self.origin.get("sha")) and self.known.get("read") == self.origin


def offers(reading: Reading) -> Iterator[Offer]:
    """Every plugin, and its parts."""
    source = reading.source
    if not source.is_local and source.location.partition("?")[0].endswith(".json"):
        name = source.location.rpartition("/")[2]
        yield from _marketplace(parsed(reading.whole(source.location)), name, None, reading)
    elif source.is_local and allowed_path(source.location).is_file():
        path = allowed_path(source.location)
        yield from _file(path, path.parent, reading)
    else:
        with reading.folder() as root:
            yield from _folder(root, reading)


def _folder(root: Path, reading: Reading) -> Iterator[Offer]:
    """The marketplace where one expects it; else every file that is one."""
    expected = next((root / name for name in FILES if (root / name).is_file()), None)
    if expected is not None:
        yield from _file(expected, root, reading)
        return
    for path, loaded in loaded_files(root, reading):
        for one in of_formats(loaded, _FORMATS, shown(path, root), reading).integrations:
            yield offer_of(one)


def _file(path: Path, root: Path, reading: Reading) -> Iterator[Offer]:
    value = _parsed_file(path, path.parent)
    yield from _marketplace(value, shown(path, root), root, reading)


def _parsed_file(path: Path, root: Path) -> Any:
    try:
        text = read_text(path, root, limit=DEFAULT_LIMITS.file)
        return parse_json(text, max_depth=DEFAULT_LIMITS.json_depth)
    except RefusedError as refused:
        raise SourceProblemError("not_json", f"{path.name} {refused.reason}.") from None


def _marketplace(value: Any, name: str, root: Path | None, reading: Reading) -> Iterator[Offer]:
    loaded = load_value(value, file=name)
    reading.report(*loaded.defects)
    reading.renames = _renames(value)
    known = dict(Listing.objects.filter(source=reading.source).values_list("key", "details"))
    plugins = [
        _Plugin(one, known.get(str(one.source_ref["name"]), {}))
        for one in of_formats(loaded, _FORMATS, name, reading).integrations
    ]
    reading.total = len(plugins)
    base = _base(value)
    fetched = {plugin.key for plugin in _to_fetch(plugins)}
    for plugin in plugins:
        if not plugin.is_apart:
            yield from _beside(plugin, root, base, reading)
        elif plugin.key in fetched:
            yield from _fetched(plugin, reading)
        else:
            yield _as_before(plugin, reading)


def _renames(value: Any) -> dict[str, str]:
    told = value.get("renames") if isinstance(value, dict) else None
    pairs = list(told.items())[:_MOST_RENAMES] if isinstance(told, dict) else []
    return {str(old): clean_name(new).text for old, new in pairs if isinstance(new, str)}


def _base(value: Any) -> str:
    """The folder that paths of plugins begin at, if the marketplace names one."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    base = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
    return base if isinstance(base, str) else "."


def _to_fetch(plugins: list[_Plugin]) -> list[_Plugin]:
    """Those whose files are fetched now: the longest not read come first."""
    waiting = [plugin for plugin in plugins if plugin.is_apart and not plugin.is_known]
    waiting.sort(key=lambda plugin: int(plugin.known.get("read_in", 0)))
    return waiting[:MOST_ARCHIVES]


def _beside(plugin: _Plugin, root: Path | None, base: str, reading: Reading) -> Iterator[Offer]:
    """A plugin whose files lie in the marketplace's own folder."""
    if root is None:
        words = "its files are beside the marketplace: give the repository's address to have them"
        reading.report(Defect(plugin.key, "source", words))
        yield offer_of(plugin.integration)
        return
    path = str(plugin.origin.get("path") or ".")
    try:
        folder = resolve_inside(_joined(root, base, path), root)
    except RefusedError as refused:
        reading.report(Defect(plugin.key, "source", refused.reason))
        yield offer_of(plugin.integration)
        return
    yield from _with_parts(plugin, folder, {}, reading)


def _joined(root: Path, base: str, path: str) -> Path:
    """Plain names are below the marketplace's base; what begins with a dot, or lies at the root,
    says itself where it is."""
    return root / path if path.startswith(".") or (root / path).is_dir() else root / base / path


def _fetched(plugin: _Plugin, reading: Reading) -> Iterator[Offer]:
    """A plugin whose files lie in a repository of its own, read now."""
    origin = plugin.origin
    address = str(origin.get("url") or f"https://github.com/{origin.get('repo')}")
    try:
        archive = archive_of(address, ref=str(origin.get("sha") or origin.get("ref") or ""))
        within = _within(origin)
        body = reading.body(archive, bounds=_ARCHIVE)
        with reading.unpacked(body, folder=within) as folder:
            read = {"read": origin, "read_in": reading.source.run}
            yield from _with_parts(plugin, folder, read, reading)
    except (RefusedError, SourceProblemError, OutgoingError) as problem:
        reading.report(Defect(plugin.key, "source", str(problem)))
        # It was its turn: others come before it next time.
        yield _as_before(plugin, reading, tried=reading.source.run)


def _within(origin: JSONObject) -> str:
    path = str(origin.get("path") or "").removeprefix("./").strip("/")
    if ".." in path.split("/"):
        raise RefusedError("leads out of the repository")
    return "" if path == "." else path


def _as_before(plugin: _Plugin, reading: Reading, *, tried: int = 0) -> Offer:
    """The plugin with what was known of its files, which are not looked at now."""
    if not plugin.is_known and not tried:
        words = f"its files are read later: {MOST_ARCHIVES} repositories in each refresh"
        reading.report(Defect(plugin.key, "source", words))
    reading.kept.add(plugin.key)
    names = ("parts", "holds", "read", "read_in")
    details = {name: plugin.known[name] for name in names if name in plugin.known}
    return offer_of(plugin.integration, details=details | ({"read_in": tried} if tried else {}))


def _with_parts(
    plugin: _Plugin, folder: Path, read: JSONObject, reading: Reading
) -> Iterator[Offer]:
    whole = offer_of(plugin.integration)
    parts = list(parts_of(folder, plugin.key, reading))
    told = {"parts": [part.key for part in parts], "holds": held_by(folder), **read}
    yield replace(whole, readme=readme_in(folder), details=told)
    for part in parts:
        yield _inherited(part, whole)


def _inherited(part: Offer, whole: Offer) -> Offer:
    """A part has of its plugin what it does not say of itself."""
    mine, theirs = part.descriptor, whole.descriptor
    descriptor = replace(
        mine,
        description=mine.description or theirs.description,
        publisher=mine.publisher or theirs.publisher,
        version=mine.version or theirs.version,
        homepage=mine.homepage or theirs.homepage,
        licence=mine.licence or theirs.licence,
    )
    declared = theirs.source_ref.get("category")
    return replace(
        part,
        descriptor=descriptor,
        category=whole.category if declared else part.category,
        tags=part.tags or whole.tags,
        repository=part.repository or whole.repository,
    )
