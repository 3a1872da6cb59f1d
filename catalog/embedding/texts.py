"""The text to embed for a capability: short, and about its use."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

# In characters; no line has more than about 300 tokens.
LONGEST_NAME, LONGEST_LIST, LONGEST_EXAMPLE = 80, 140, 160
LONGEST_DESCRIPTION, LONGEST_START = 500, 300
MOST_EXAMPLES = 8

_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./:\s]+")


class Describable(Protocol):
    """The fields shared by descriptors and stored capabilities."""

    @property
    def integration(self) -> Any:
        """The integration's slug, or an object with a slug."""

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
    """Return name, parameters, description and examples; never schemas, content or secrets.

    One reading per line: name first, description first, then one line per example.
    `embed_documents` averages the lines' vectors, which is more stable than any single one.
    """
    return _readings(capability, parameter_names(capability.input_schema))


def text_without_order(capability: Describable) -> str:
    """Return the embedded text with sorted parameters, for its hash.

    Order alone is no reason to embed again: some servers list their parameters in another order
    each time, and rows of earlier releases have jsonb's. All names of a list that is cut count,
    since the order decides which of them are embedded.
    """
    names = sorted(parameter_names(capability.input_schema), key=_place_in_jsonb)
    whole = ", ".join(names)
    return _readings(capability, names) + (f"\n{whole}" if len(whole) > LONGEST_LIST else "")


def _readings(capability: Describable, parameters: Sequence[str]) -> str:
    name = signature(capability, parameters)
    description = truncate(capability.description, LONGEST_DESCRIPTION)
    start = truncate(description, LONGEST_START).rstrip(". ")
    examples = (truncate(example, LONGEST_EXAMPLE) for example in example_texts(capability))
    readings = (f"{name}: {description} {context_suffix(capability)}", f"{start}: {name}")
    return "\n".join((*readings, *filter(None, examples)))


def example_texts(capability: Describable) -> list[str]:
    """Return what people might write for it: its source's examples, then its example requests."""
    return [*capability.examples, *getattr(capability, "request_texts", ())][:MOST_EXAMPLES]


def signature(capability: Describable, parameters: Sequence[str]) -> str:
    """Return the action and parameters: `send email (to, subject)`."""
    names = _join_names(parameters)
    return truncate(_name(capability), LONGEST_NAME) + (f" ({names})" if names else "")


def context_suffix(capability: Describable) -> str:
    """Return the context:

    `[gmail, communication, mail]` for integration, category, tags and tools.
    """
    category = "" if capability.category_inferred else capability.category
    around = (integration_slug(capability), category, *capability.tags, *capability.required_tools)
    return f"[{_join_names(around)}]"


def _name(capability: Describable) -> str:
    """Return the words of the action, plus those only in the display name."""
    action = split_identifier(tool_name(capability))
    names = f"{action} {split_identifier(capability.display_name)}"
    return " ".join(dict.fromkeys(names.split()))


def tool_name(capability: Describable) -> str:
    """Return the name within its integration: an admin's, if there is one."""
    return str(getattr(capability, "tool_name", capability.action))


def integration_slug(capability: Describable) -> str:
    return str(getattr(capability.integration, "slug", capability.integration))


def parameter_names(schema: Mapping[str, Any] | None) -> list[str]:
    """Return the names of top-level properties, in their author's order."""
    properties = (schema or {}).get("properties")
    return list(map(str, properties)) if isinstance(properties, Mapping) else []


def _place_in_jsonb(name: str) -> tuple[int, bytes]:
    encoded = name.encode()
    return len(encoded), encoded


def split_identifier(name: str) -> str:
    """Split an identifier: `sendEmail_toTeam` becomes "send email to team"."""
    return _WORD_ENDS.sub(" ", name).strip().lower()


def _join_names(names: Iterable[str]) -> str:
    return truncate(
        ", ".join(dict.fromkeys(split_identifier(name) for name in names if name)), LONGEST_LIST
    )


def truncate(text: str, longest: int) -> str:
    """Truncate a text to one line, at a word boundary."""
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    return text[:longest].rsplit(" ", 1)[0]
