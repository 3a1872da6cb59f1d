"""OpenAPI documents as a format: one integration of kind `openapi`, with a tool per operation."""

from dataclasses import dataclass, replace
from typing import Any

from catalog.formats.descriptors import Defect, IntegrationDescriptor, JSONObject, Loaded, Transport
from catalog.formats.entry import Document
from catalog.formats.files import DEFAULT_LIMITS, RefusedError
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.openapi.api_choice import ApiChoice, choose, count_tags
from catalog.formats.openapi.api_document import OpenApiDocument, parse_document, read_document
from catalog.formats.openapi.api_document import recognises as recognises
from catalog.formats.openapi.api_operations import ApiOperation, read_operations
from catalog.formats.openapi.api_security import (
    rank_alternative,
    read_schemes,
    secrets_of,
    variables_of,
)
from catalog.formats.readers.tool import read_tools
from catalog.formats.text_cleanup import clean_name, clean_text

OF_SERVERS = True
IS_LOOSE = False
TRANSPORT: Transport = "openapi"
_BY_TEXT = "is an OpenAPI document, which is added by its address or text, or imported as a file"


@dataclass(frozen=True, slots=True)
class ReadApi:
    """An API as read from a document: the integration, its operations, and what was left out."""

    integration: IntegrationDescriptor
    operations: tuple[ApiOperation, ...]
    defects: tuple[Defect, ...]

    def tools(self) -> list[JSONObject]:
        """Return the chosen operations as tools in the form of MCP."""
        choice = ApiChoice.from_json(self.integration.source_ref.get("chosen"))
        return [operation.tool for operation in choose(self.operations, choice)]


def read(document: Document) -> Loaded:
    """Refuse a document that is a value already: its text is read, apart if it is a stranger's."""
    raise RefusedError(_BY_TEXT)


def refuse_api(text: str, *, file: str, slug: str) -> ReadApi:
    """Refuse a document where none is of use, since it takes long to read."""
    raise RefusedError(_BY_TEXT)


def load(document: Document, api: ReadApi) -> Loaded:
    """Return the operations of an API up to the limit for one server; report what is left out."""
    for defect in api.defects:
        document.report(defect.field, defect.reason)
    limit = document.limits.tools_per_server
    tools = [operation.tool for operation in api.operations[:limit]]
    if len(api.operations) > limit:
        document.report("paths", f"has more than {limit:,} operations; the rest is left out")
    capabilities = read_tools(document, tools, "paths", integration=api.integration)
    return Loaded((api.integration,), capabilities)


def parse_api(text: str, **options: Any) -> ReadApi:
    """Parse the text of a document and read it as `read_api` does, in this process."""
    return read_api(parse_document(text), **options)


def read_api(
    value: Any,
    *,
    file: str,
    slug: str = "",
    came_from: str = "",
    address: str = "",
    chosen: Any = None,
) -> ReadApi:
    """Read a parsed document; RefusedError if there is nothing to call.

    `came_from` is the address of the document, `address` that of the API, if it says none.
    """
    document = read_document(value)
    base = address or document.address(came_from)
    if not base.startswith(("https://", "http://")) or len(base) > DEFAULT_LIMITS.address:
        raise RefusedError("says no address of the API: enter it with the document", "servers")
    result = read_operations(document, address=base)
    if not result.operations:
        reasons = "; ".join(f"{at} {reason}" for at, reason in result.defects[:3])
        raise RefusedError(f"has no operation to call. {reasons}".strip(), "paths")
    integration = _integration(document, result.operations, base, slug)
    more = {"file": file, **({"chosen": chosen} if chosen else {})}
    integration = replace(integration, source_ref={**integration.source_ref, **more})
    left_out = (*document.left_out, *result.defects)
    defects = tuple(Defect(file, at, reason) for at, reason in left_out)
    return ReadApi(integration, tuple(result.operations), defects)


def _integration(
    document: OpenApiDocument, operations: list[ApiOperation], base: str, slug: str
) -> IntegrationDescriptor:
    limits = DEFAULT_LIMITS
    title = clean_name(document.title).text[: limits.name]
    schemes = read_schemes(document)
    required = _required_secrets(operations, schemes)
    variables = variables_of(schemes, required)
    sign_ins = _sign_ins(operations, schemes)
    return IntegrationDescriptor(
        slug=slug or slug_for(title or "api"),
        kind="openapi",
        title=title or display_name_for(slug or "api"),
        description=clean_text(document.description).text.strip()[: limits.description // 4],
        version=clean_name(document.api_version).text[: limits.version],
        transport=TRANSPORT,
        endpoint=base,
        required_secrets=tuple(required),
        source_ref={
            "format": "openapi",
            "dialect": document.version,
            "security": schemes,
            "variables": variables,
            "operations": len(operations),
            "tags": [tag[:60] for tag, _ in count_tags(operations)[:10]],
            **({"icon": document.icon} if document.icon else {}),
            **({"sign_ins": sign_ins} if sign_ins else {}),
        },
    )


def _sign_ins(operations: list[ApiOperation], schemes: dict[str, JSONObject]) -> list[list[str]]:
    """Return the secrets of each sign-in that every operation takes which needs one.

    One of them is enough, whichever is asked for first.
    """
    needing = [
        {tuple(names) for names in alternatives}
        for item in operations
        if (alternatives := item.tool["annotations"]["http"].get("security"))
        and [] not in alternatives
    ]
    common = set.intersection(*needing) if needing else set()
    ranked = sorted(common, key=lambda names: (rank_alternative(list(names), schemes), names))
    return [secrets_of(list(names), schemes) for names in ranked] if len(ranked) > 1 else []


def _required_secrets(operations: list[ApiOperation], schemes: dict[str, JSONObject]) -> list[str]:
    """Return the secrets without which some operation cannot be called.

    Of several alternatives, the one that most operations accept is asked for.
    """
    needing = [
        alternatives
        for item in operations
        if (alternatives := item.tool["annotations"]["http"].get("security"))
        and [] not in alternatives
    ]
    if not needing:
        return []
    # What few operations have as a parameter is asked for by those, not by the integration.
    seldom = {name for name, scheme in schemes.items() if scheme.get("parameter") == "seldom"}
    needing = [
        usual
        for alternatives in needing
        if (usual := [names for names in alternatives if not seldom & set(names)])
    ]
    if not needing:
        return []
    counts: dict[tuple[str, ...], int] = {}
    for alternatives in needing:
        for item in alternatives:
            counts[tuple(item)] = counts.get(tuple(item), 0) + 1
    # Fewer secrets first: signing in twice is seldom what an admin has.
    best = min(
        counts,
        key=lambda names: (
            *(-counts[names], len(names), rank_alternative(list(names), schemes)),
            names,
        ),
    )
    # What people or Pegboard's client sign in for, nobody has to enter.
    entered = [name for name in best if "sign_in" not in schemes[name]]
    return list(dict.fromkeys(secrets_of(entered, schemes)))
