"""Extension points: what other apps add to these pages, registered when the apps are loaded.

This app imports none of those above it, and its pages show places, counts and lists of theirs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.functional import Promise

from acl.models import ApiKey

Counts = Callable[[User], Mapping[str, int]]
Context = Callable[[User], Mapping[str, Any]]
KeyExample = Callable[[HttpRequest, ApiKey, str, User], str]


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the rail."""

    url_name: str
    label: str | Promise
    icon: str
    order: int
    covers: bool = True  # pages below its address, too
    key: str = ""  # goes there after "g"
    for_staff: bool = False


@dataclass(slots=True)
class Extensions:
    """Registry of extensions; `extensions` is its only instance."""

    places: tuple[Place, ...] = ()
    count_waiting: Counts = lambda _user: {}
    account_context: Context = lambda _user: {}
    key_example: KeyExample = lambda _request, _key, _raw, _user: ""

    def add_places(self, *places: Place) -> None:
        """Add entries to the rail."""
        self.places = tuple(sorted({*self.places, *places}, key=lambda place: place.order))

    def places_for(self, *, staff: bool) -> tuple[Place, ...]:
        """Return the entries of the rail for staff, or for everyone else."""
        return tuple(place for place in self.places if staff or not place.for_staff)


extensions = Extensions()
