"""Facts about a tool that the guard knows, and the words of its name."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from catalog.effects.verbs import Verb, find_verb
from catalog.words.names import argument_words, singular, tool_words


def word_set(text: str) -> frozenset[str]:
    """Return a list of words that is written as a text."""
    return frozenset(text.split())


# Words of names that tell nothing about what a tool works on.
_EMPTY = word_set(
    "a all and api at by for from get in id ids list my new of on or search the to with"
)
_MOST_PROPERTIES = 100
# They take something away, end it, or shut somebody out, whatever else their effect is called.
_ENDING = word_set("""
    archive ban block cancel close deactivate disable discard disconnect drop end kick kill leave
    lock merge overwrite purge reject reset restrict revoke stop suspend terminate unassign
    uninstall unlink unregister unshare unsubscribe withdraw
    """)


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool as the guard sees it.

    `source` is its integration, `flags` are those of its assessed effect. `trusted` says that an
    admin trusts its server.
    """

    name: str
    effect: str
    flags: frozenset[str] = frozenset()
    schema: Mapping[str, Any] | None = None
    source: str = ""
    trusted: bool = False

    @property
    def acts(self) -> bool:
        """Return True unless the tool only reads; an unknown effect counts as a write."""
        return self.effect != "read"

    @property
    def reaches_outside(self) -> bool:
        """Return True if it sends, posts, pays or publishes."""
        return "reaches_outside" in self.flags

    @property
    def reads_private(self) -> bool:
        """Return True if it returns data of the user or the organisation."""
        return "reads_private_data" in self.flags

    @property
    def returns_foreign(self) -> bool:
        """Return True if it returns text that strangers wrote."""
        return "returns_foreign_text" in self.flags

    @property
    def verb(self) -> Verb | None:
        """Return the first verb of the name."""
        return next((verb for word in tool_words(self.name) if (verb := find_verb(word))), None)

    @property
    def ends_something(self) -> bool:
        """Return True if it deletes, cancels, or shuts somebody out."""
        return self.effect == "delete" or any(is_ending(word) for word in tool_words(self.name)[:3])

    @property
    def nouns(self) -> frozenset[str]:
        """Return what the tool works on, by its name: `search_calendar_events` gives `event`."""
        return nouns_of(self.name)


def nouns_of(name: str) -> frozenset[str]:
    """Return the nouns of a name, in the singular."""
    return frozenset(singular(word) for word in tool_words(name) if word not in _EMPTY)


def property_words(schema: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the words of a schema's first properties."""
    properties = (schema or {}).get("properties")
    names = islice(properties, _MOST_PROPERTIES) if isinstance(properties, Mapping) else ()
    return frozenset(word for name in names for word in argument_words(str(name)))


def is_ending(word: str) -> bool:
    """Return True for a verb that takes something away or ends it, in any form."""
    verb = find_verb(word)
    return verb is not None and (verb.effect == "delete" or verb.base in _ENDING)
