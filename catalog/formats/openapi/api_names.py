"""Names of operations and arguments, short and legal for every model's API."""

import re
from collections.abc import Iterable

from catalog.words.names import singular

LONGEST_ACTION = 56
LONGEST_ARGUMENT = 64
_CAMEL = re.compile(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_VERBS = {
    "post": "create",
    "put": "replace",
    "patch": "update",
    "delete": "delete",
    "head": "check",
}
_VERSION = re.compile(r"v\d+(?:[a-z]+\d*)?|api|rest")


def action_for(method: str, path: str, operation_id: str) -> str:
    """Return the tool's name: the operation's own in one spelling, or one made from its path."""
    name = _snake(operation_id)
    # Frameworks append path and method: `read_item_items__item_id__get`.
    suffix = f"_{_snake(path)}_{method}"
    if name.endswith(suffix) and len(name) > len(suffix):
        name = name.removesuffix(suffix)
    return _cut(name or _name_of_path(method, path), LONGEST_ACTION)


def unique_name(name: str, taken: Iterable[str], longest: int, more: str = "") -> str:
    """Return the name, or the first longer one that is not taken."""
    names = set(taken)
    if name not in names:
        return name
    candidates = ([f"{name}_{more}"] if more else []) + [f"{name}_{at}" for at in range(2, 10_000)]
    for candidate in candidates:
        cut = _cut(candidate, longest)
        if cut not in names:
            return cut
    return name


def argument_for(name: str) -> str:
    """Return a parameter's name in the characters that models may use."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name.replace("[]", "")).strip("_.-")
    return _cut(plain or "value", LONGEST_ARGUMENT)


def secret_for(scheme: str, part: str = "") -> str:
    """Return the name of a secret: API_KEY, PETSTORE_AUTH_TOKEN."""
    name = _snake(scheme).upper() or "API"
    if part and not name.endswith(part):
        name = f"{name}_{part}"
    return name[:100]


def _name_of_path(method: str, path: str) -> str:
    """Name an operation by its method and the last things of its path."""
    steps = [step for step in path.strip("/").split("/") if step]
    ends_in_one = bool(steps) and "{" in steps[-1]
    things = [
        _snake(step) for step in steps if "{" not in step and not _VERSION.fullmatch(step.lower())
    ]
    # Whose things they are: the things before the last belong to one of them.
    words = [*(singular(thing) for thing in things[-3:-1]), *things[-1:]]
    if ends_in_one and words:
        words[-1] = singular(words[-1])
    verb = _VERBS.get(method) or ("get" if ends_in_one or not words else "list")
    if method == "get" and words and not ends_in_one and singular(words[-1]) == words[-1]:
        verb = "get"
    if method == "post" and words and not ends_in_one:
        words[-1] = singular(words[-1])
    return "_".join([verb, *words])


def _snake(text: str) -> str:
    spaced = _CAMEL.sub(r"\1\3_\2\4", text[:300])
    return _OTHER.sub("_", spaced).strip("_").lower()


def _cut(name: str, longest: int) -> str:
    return name[:longest].rstrip("_.-")
