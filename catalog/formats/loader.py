"""Loader: detects the format of each file, reads it, and merges the results.

Files are read in the order of their names, so the same folder always gives the same result.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

from acl.platform.open_registry import modules_of
from catalog.formats import catalog_jsonl, skill
from catalog.formats._merge import merge
from catalog.formats.descriptors import Defect, Loaded
from catalog.formats.entry import Document
from catalog.formats.files import (
    DEFAULT_LIMITS,
    Limits,
    RefusedError,
    parse_yaml,
    read_bytes,
    read_lines,
    read_text,
)
from catalog.formats.loose_text import parse_loose
from catalog.formats.names import slug_for
from catalog.formats.openapi.api_document import collect_parts, looks_like_document
from catalog.formats.readers import manifest, openapi
from catalog.formats.readers.openapi import ReadApi, parse_api
from catalog.formats.source_folders import display_path, find_sources


class ApiReader(Protocol):
    """A reader of the text of an OpenAPI document; RefusedError says why it reads none."""

    def __call__(self, text: str, *, file: str, slug: str) -> ReadApi: ...


class SourceFormat(Protocol):
    """Interface of each module of `readers`: detection and reading.

    With `OF_SERVERS`, its entries are servers. What is loose has a shape that others have as well,
    and is recognised after them.
    """

    OF_SERVERS: bool
    IS_LOOSE: bool

    def recognises(self, value: Any) -> bool: ...

    def read(self, document: Document) -> Loaded: ...


FORMATS = tuple(
    sorted(
        cast("Iterable[SourceFormat]", modules_of("catalog.formats.readers").values()),
        key=lambda source_format: source_format.IS_LOOSE,
    )
)
_EMPTY = "contains nothing to load"
_UNKNOWN = "has no format that the catalogue reads"
_YAML = (".yaml", ".yml")


def load_path(
    path: Path,
    *,
    integration: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    read_api: ApiReader = parse_api,
) -> Loaded:
    """Load a file or folder, with every defect by file, field and reason.

    `integration` is the slug for capabilities without an integration (skills, manifests, tool
    lists), and for the server if there is only one. `read_api` reads OpenAPI documents: those of
    strangers, apart from here.
    """
    slug = slug_for(integration) if integration else None
    sources = find_sources(path, limits)
    sole = len(sources.files) == 1
    loaded = [
        _load_file(file, sources.root, slug, sole=sole, limits=limits, read_api=read_api)
        for file in sources.files
    ]
    if not sources.files and not sources.defects:
        return Loaded(defects=(Defect(display_path(path, path.parent), "file", _EMPTY),))
    return merge(loaded, sources.defects)


def load_value(
    value: Any,
    *,
    file: str,
    integration: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    text: str = "",
) -> Loaded:
    """Load a value in memory, such as a registry's answer; OpenAPI documents are refused.

    `text` is what it was parsed from, where defects are to name their line.
    """
    slug = slug_for(integration) if integration else None
    document = Document(file=file, value=value, integration=slug, limits=limits, text=text)
    return merge([_read_with_defects(document, lambda: _read_value(document))], ())


def _load_file(
    path: Path, root: Path, slug: str | None, *, sole: bool, limits: Limits, read_api: ApiReader
) -> Loaded:
    file = display_path(path, root)
    document = Document(file=file, value=None, folder=path.parent, integration=slug, limits=limits)

    def read() -> Loaded:
        return _read_file(path, root, document, sole=sole, read_api=read_api)

    return _read_with_defects(document, read)


def _read_with_defects(document: Document, reader: Callable[[], Loaded]) -> Loaded:
    """Run a reader and attach the document's defects; a refused file adds one."""
    try:
        loaded = reader()
    except RefusedError as refused:
        document.report(refused.field, refused.reason)
        loaded = Loaded()
    if not (loaded.integrations or loaded.capabilities or document.defects):
        document.report("file", _EMPTY)
    return replace(loaded, defects=tuple(document.defects))


def _read_file(
    path: Path, root: Path, document: Document, *, sole: bool, read_api: ApiReader
) -> Loaded:
    limits, suffix = document.limits, path.suffix.lower()
    if suffix == catalog_jsonl.SUFFIX:
        return catalog_jsonl.read(document, read_lines(path, root, limits=limits))
    if suffix == skill.ARCHIVE_SUFFIX:
        return skill.read_archive(document, read_bytes(path, root, limit=limits.file))
    text = read_text(path, root, limit=limits.file)
    if suffix == skill.SUFFIX:
        document.value = text
        return skill.read(document)
    is_manifest = path.name in manifest.FILE_NAMES
    # Other YAML is short; the documents of APIs are not, and are not parsed before it is known who
    # reads them.
    if suffix in _YAML and not is_manifest and looks_like_document(text):
        text = _with_files_beside(text, root, document)
        return _read_api(text, document, sole=sole, read_api=read_api)
    if is_manifest:
        document.value = parse_yaml(read_text(path, root, limit=limits.manifest), limits=limits)
        return manifest.read(document)
    document.value = parse_loose(text, limits=limits, suffix=suffix)
    document.text = text
    if _find_format(document.value) is openapi:
        text = _with_files_beside(text, root, document)
        return _read_api(text, document, sole=sole, read_api=read_api)
    return _read_value(document, sole=sole)


def _with_files_beside(text: str, root: Path, document: Document) -> str:
    """Return an API's document with the files of its folder that it refers to."""

    def read(place: str) -> str:
        if "://" in place:
            raise RefusedError("is at another place: put it into the folder")
        return read_text(root / place, root, limit=document.limits.file)

    return collect_parts(text, document.file, read)


def _read_api(text: str, document: Document, *, sole: bool, read_api: ApiReader) -> Loaded:
    if not sole:
        document.integration = None
    api = read_api(text, file=document.file, slug=document.integration or "")
    return openapi.load(document, api)


def _read_value(document: Document, *, sole: bool = True) -> Loaded:
    source_format = _find_format(document.value)
    # The admin's slug is for a single server; several files would all claim it.
    if source_format.OF_SERVERS and not sole:
        document.integration = None
    return source_format.read(document)


def _find_format(value: Any) -> SourceFormat:
    source_format = next((candidate for candidate in FORMATS if candidate.recognises(value)), None)
    if source_format is None:
        raise RefusedError(_UNKNOWN)
    return source_format
