"""Listings of what was added by hand, for admins only: their names, and the sentence that says what
each is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from django.utils.translation import gettext_noop

from catalog.formats.descriptors import Descriptor, IntegrationDescriptor
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.package_names import NotAPackageError, parse_package
from catalog.models import Integration
from catalog.registration.integration_identity import find_target
from marketplace.listings.store import built_in_source, store_offers
from marketplace.models import Addition, Listing
from marketplace.offers.offer import offer_of

SOURCE = "added"
State = Addition.State
_MOST_OF_ONE_NAME = 1_000
NAME_TAKEN = gettext_noop("This name is taken by another integration. Add it with another name.")


def store_server(
    row: Addition,
    descriptor: IntegrationDescriptor,
    tools: Iterable[Descriptor] = (),
    *,
    is_named: bool = True,
) -> None:
    """Store the listing, and set the row's outcome; saves only the listing.

    Unless the person named it (`is_named`), it gets a name that nothing else has.
    """
    if not is_named:
        title = find_free_title(_titles(descriptor), descriptor)
        if title != descriptor.title:
            tools = [replace(tool, integration=slug_for(title)) for tool in tools]
            descriptor = replace(descriptor, slug=slug_for(title), title=title)
            row.name = title[:100]
    offer = offer_of(descriptor, tools, key=descriptor.slug)
    source = built_in_source(SOURCE)
    report = store_offers([offer], source=source)
    if not report.loaded:
        row.state, row.reason, row.message = State.FAILED, "name_taken", NAME_TAKEN
        return
    row.state, row.listing = (
        State.READY,
        Listing.objects.get(source=source, key=offer.key).slug,
    )
    row.message = row.message or "Nothing was contacted. Its tools are listed when it is installed."


def find_free_title(titles: Iterable[str], descriptor: IntegrationDescriptor) -> str:
    """Return the first title that no other thing has, else the first one with a number.

    What is the same thing keeps its name, so that adding it again is an update.
    """
    candidates = list(titles)
    numbered = (f"{candidates[0]} {number}" for number in range(2, _MOST_OF_ONE_NAME))
    for title in (*candidates, *numbered):
        if not is_taken(slug_for(title), descriptor):
            return title
    return candidates[0]


def is_taken(slug: str, descriptor: IntegrationDescriptor) -> bool:
    """Return True if another thing is called so."""
    target = find_target(descriptor)
    return any(
        find_target(row) != target
        for model in (Listing, Integration)
        for row in model.objects.filter(slug=slug)
    )


def _titles(descriptor: IntegrationDescriptor) -> Iterator[str]:
    """Yield the title, and one with the scope of its package before it."""
    yield descriptor.title
    try:
        package = parse_package(descriptor.command)
    except NotAPackageError:
        return
    if package and package.index == "npm" and "/" in package.name:
        scope, _, name = package.name.lstrip("@").partition("/")
        yield display_name_for(f"{scope}-{name}")
