"""Request context: the request id, the client's address, and the chain of whoever acts.

The edges set it, rows and audit entries read it; nothing between them has to pass it on. A command
or a task has no request: its actor is the operator or the system.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Protocol

from django.contrib.auth.models import User

from acl.actor.chain import Actor, ActorKind, Chain, Credential, CredentialKind, Subject
from acl.actor.operator import actor_without_request

Person = Callable[[], object]
SESSION = Credential(CredentialKind.SESSION)


class ShownKey(Protocol):
    """Details of the request's key, as far as the chain needs them."""

    @property
    def key_id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def prefix(self) -> str: ...
    @property
    def owner_id(self) -> int | None: ...


def _nobody() -> object:
    return None


@dataclass(frozen=True, slots=True)
class RequestContext:
    """`person` is called late: most requests never need the row of the user who signed in."""

    request_id: str = ""
    address: str = ""
    person: Person = _nobody
    key: ShownKey | None = None
    subject: Subject | None = None


_context: ContextVar[RequestContext] = ContextVar("request_context", default=RequestContext())  # noqa: B039 - it is frozen


def current_context() -> RequestContext:
    """Return the context of the request at hand; an empty one outside of requests."""
    return _context.get()


def current_chain() -> Chain:
    """Return the chain of the request at hand."""
    context = _context.get()
    if context.key is not None:
        return Chain(_owner(context.key), _credential(context.key), context.subject)
    person = context.person()
    if isinstance(person, User):
        actor = Actor(ActorKind.PERSON, person.pk, person.get_username())
        return Chain(actor, SESSION, context.subject)
    return Chain(actor_without_request())


@contextmanager
def request_context(*, request_id: str, address: str, person: Person = _nobody) -> Iterator[None]:
    """Do what is inside for this request; `person` returns the user of its session, if any."""
    token = _context.set(RequestContext(request_id, address, person))
    try:
        yield
    finally:
        _context.reset(token)


def note_key(holder: ShownKey) -> None:
    """Note that the request at hand has shown this key."""
    _context.set(replace(_context.get(), key=holder))


def note_subject(user_id: int, name: str) -> None:
    """Note for which user the request at hand asks."""
    _context.set(replace(_context.get(), subject=Subject(user_id, name)))


def _owner(key: ShownKey) -> Actor:
    """Return the key's owner. The kind and the name, which need a statement, are for the log."""
    if key.owner_id is None:
        return Actor(ActorKind.KEY)
    return Actor(ActorKind.PERSON, key.owner_id)


def _credential(key: ShownKey) -> Credential:
    return Credential(CredentialKind.KEY, key.key_id, key.prefix, key.name)
