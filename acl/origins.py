"""Where a change comes from: the request, the address and the key that are at work right now.

The edges say it, the audit log writes it down; nothing between them has to pass it on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Origin:
    """Everything that is known; a command or a task has none of it."""

    request_id: str = ""
    address: str = ""
    key_prefix: str = ""


_origin: ContextVar[Origin] = ContextVar("origin", default=Origin())  # noqa: B039 - it is frozen


def current_origin() -> Origin:
    """The origin of what is done at the moment."""
    return _origin.get()


@contextmanager
def working_for(*, request_id: str, address: str) -> Iterator[None]:
    """What is done inside comes from this request."""
    token = _origin.set(Origin(request_id=request_id, address=address))
    try:
        yield
    finally:
        _origin.reset(token)


def note_key(prefix: str) -> None:
    """The request at hand has shown the key with these first characters."""
    _origin.set(replace(_origin.get(), key_prefix=prefix))
