"""Variables as sources declare them: with defaults and choices, and never with a secret's value."""

from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.formats.entry import Entry
from catalog.formats.files import resolve_types
from catalog.formats.secret_redaction import find_placeholders, is_plain_setting

_MOST_CHOICES = 50


def build_variable(
    entry: Entry,
    name: str,
    *,
    description: str = "",
    secret: bool = True,
    required: bool = True,
    default: Any = None,
    choices: Any = None,
) -> JSONObject:
    """Return a variable for the form that asks for it. One with a default needs no value.

    A default is kept only where it is no secret: by what the source says, its name and its looks.
    """
    value = resolve_types(default)
    flag = {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else ""
    text = flag or (str(value) if isinstance(value, (str, int, float)) else "")
    is_setting = bool(text) and not secret and is_plain_setting(name, text)
    listed = choices if isinstance(choices, list) else []
    limit = entry.document.limits.name
    values = [str(choice)[:limit] for choice in listed if not isinstance(choice, (dict, list))]
    return {
        "name": name,
        "description": description,
        "secret": secret,
        "required": required and not is_setting,
        **({"default": text} if is_setting else {}),
        **({"choices": values[:_MOST_CHOICES]} if values else {}),
    }


def read_variable(entry: Entry, name: str, *, required: bool | None = None) -> JSONObject:
    """Return a variable that a mapping describes, in the words of registries and catalogues.

    Its `value` is a default, too, unless it has gaps to be filled. A secret is always required.
    """
    secret = bool(entry.flag("isSecret", "secret", "sensitive"))
    needed = bool(entry.flag("isRequired", "required")) if required is None else required
    value, default = entry.raw("value"), entry.raw("default")
    has_gaps = isinstance(value, str) and bool(find_placeholders(value))
    return build_variable(
        entry,
        name,
        description=entry.text("description", limit=entry.document.limits.reason),
        secret=secret,
        required=needed or secret,
        default=default if value is None or has_gaps else value,
        choices=entry.raw("choices", "options"),
    )
