"""Tools as a source brings them, and the edges that are stored then."""

from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, Loaded
from catalog.models import Edge
from catalog.registration.register import register


def tool(action: str, integration: str = "office", **values: object) -> Descriptor:
    name = f"{integration}__{action}"
    return Descriptor(
        kind="tool",
        integration=integration,
        action=action,
        full_name=name,
        identifier=f"tool:{name}",
        display_name=action,
        description=f"Does {action}.",
        category="other",
        **values,  # type: ignore[arg-type]
    )


def bring(*tools: Descriptor) -> None:
    """Register these as their sources would."""
    slugs = sorted({one.integration for one in tools})
    owners = tuple(IntegrationDescriptor(slug, "mcp", slug) for slug in slugs)
    register(Loaded(owners, tools), by=None, source="test", send=False)


def edges() -> set[tuple[str, str, str, float, str]]:
    rows = Edge.objects.values_list("source__action", "kind", "target__action", "weight", "origin")
    return set(rows)
