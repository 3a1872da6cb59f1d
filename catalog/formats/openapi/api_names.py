"""Names of operations and arguments, short and legal for every model's API."""

import re
from collections.abc import Iterable

from anyascii import anyascii

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
# Ids that generators make up: a method, a counter, a hash, a controller's class.
_POOR_WORDS = frozenset(
    """get post put patch delete head query operation op api v call method endpoint handler index
    default root route request using action execute id unnamed undefined null""".split()  # noqa: SIM905
)
_BETWEEN_WORDS = re.compile(r"[_\d]++")
_AT_RANDOM = re.compile(r"[0-9a-f]{8,}+(?:_[0-9a-f]{3,}+)*+")
_THING = re.compile(r"[A-Za-z]{2}")
_MOST_WORDS = 6
_VERSION = re.compile(r"v\d+(?:[a-z]+\d*)?|api|rest")


def action_for(method: str, path: str, operation_id: str, summary: str = "") -> str:
    """Return the tool's name: the operation's own in one spelling, or one made from its path.

    An id that says nothing, such as `operation_12` or a number in hexadecimal, counts as none.
    """
    name = _snake(operation_id)
    # Frameworks append path and method: `read_item_items__item_id__get`.
    suffix = f"_{_snake(path)}_{method}"
    if name.endswith(suffix) and len(name) > len(suffix):
        name = name.removesuffix(suffix)
    words = _BETWEEN_WORDS.split(name.replace("no_name", ""))
    if _AT_RANDOM.fullmatch(name) or _POOR_WORDS.issuperset(filter(None, words)):
        has_things = any("{" not in step and _THING.search(step) for step in path.split("/"))
        summed_up = "_".join(_snake(summary).split("_")[:_MOST_WORDS])
        name = _name_of_path(method, path) if has_things or not summed_up else summed_up
    return _cut(name, LONGEST_ACTION)


def unique_name(name: str, taken: Iterable[str], longest: int, more: str = "") -> str:
    """Return the name, or the first longer one that is not taken, cut before what is added."""
    names = set(taken)
    if name not in names:
        return name
    base = f"{name}_{more}" if more and len(f"{name}_{more}") <= longest else name
    for at in range(1, 10_000):
        end = "" if at == 1 else f"_{at}"
        candidate = f"{_cut(base, longest - len(end))}{end}"
        if candidate not in names:
            return candidate
    return name


def argument_for(name: str) -> str:
    """Return a parameter's name in the characters that models may use."""
    latin = anyascii(name)  # 名前 is MingQian
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", latin.replace("[]", "")).strip("_.-")
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
