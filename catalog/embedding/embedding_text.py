"""The text that a capability is embedded by: short, and about what it is good for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

# Characters; no reading has more than some 300 tokens.
LONGEST_NAME, LONGEST_LIST, LONGEST_EXAMPLE = 80, 140, 160
LONGEST_DESCRIPTION, LONGEST_START = 500, 300
MOST_EXAMPLES = 8

_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./:\s]+")


class Describable(Protocol):
    """What a descriptor and a stored capability have in common."""

    @property
    def integration(self) -> Any:
        """The integration's slug, or an object that has one."""

    @property
    def action(self) -> str: ...
    @property
    def full_name(self) -> str: ...
    @property
    def display_name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def category_inferred(self) -> bool: ...
    @property
    def tags(self) -> Sequence[str]: ...
    @property
    def examples(self) -> Sequence[str]: ...
    @property
    def input_schema(self) -> Mapping[str, Any] | None: ...
    @property
    def required_tools(self) -> Sequence[str]: ...


def embedding_text(capability: Describable) -> str:
    """Name, parameters, description, use cases; never the schema, the content or secrets.

    A reading on a line each: one that begins with the name, one with the description, then what
    people say who need it. Their vectors are averaged (`embed_documents`), which is steadier than
    any one alone.
    """
    name = signature(capability)
    description = beginning(capability.description, LONGEST_DESCRIPTION)
    start = beginning(description, LONGEST_START).rstrip(". ")
    examples = (
        beginning(example, LONGEST_EXAMPLE) for example in capability.examples[:MOST_EXAMPLES]
    )
    readings = (f"{name}: {description} {ending(capability)}", f"{start}: {name}")
    return "\n".join((*readings, *filter(None, examples)))


def signature(capability: Describable) -> str:
    """`send email (to, subject)`."""
    parameters = _listed(parameter_names(capability.input_schema))
    return beginning(_name(capability), LONGEST_NAME) + (f" ({parameters})" if parameters else "")


def ending(capability: Describable) -> str:
    """`[gmail, communication, mail]`: whose it is, and what it is used for and with."""
    category = "" if capability.category_inferred else capability.category
    around = (integration_slug(capability), category, *capability.tags, *capability.required_tools)
    return f"[{_listed(around)}]"


def _name(capability: Describable) -> str:
    """The action in words, with those that the display name adds."""
    names = f"{in_words(capability.action)} {in_words(capability.display_name)}"
    return " ".join(dict.fromkeys(names.split()))


def integration_slug(capability: Describable) -> str:
    return str(getattr(capability.integration, "slug", capability.integration))


def parameter_names(schema: Mapping[str, Any] | None) -> list[str]:
    """The names of the schema's own properties, not of nested ones."""
    properties = (schema or {}).get("properties")
    return [str(name) for name in properties] if isinstance(properties, Mapping) else []


def in_words(name: str) -> str:
    """`sendEmail_toTeam` as "send email to team"."""
    return _WORD_ENDS.sub(" ", name).strip().lower()


def _listed(names: Iterable[str]) -> str:
    return beginning(
        ", ".join(dict.fromkeys(in_words(name) for name in names if name)), LONGEST_LIST
    )


def beginning(text: str, longest: int) -> str:
    """The text on one line, cut at a word."""
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    return text[:longest].rsplit(" ", 1)[0]
