"""Chain of an act: the actor, the credential and the subject, in a request with its id."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

# The chain of an act: the actor, the credential that was shown, and the subject it was done for.
#
# A person who signs in acts with a session, a program with a key. The actor of a key is its owner;
# a key without an owner has none. The subject is the user in whose name something is done: usually
# the actor, for the key of a chat backend any user, for an admin perhaps someone else.


class ActorKind(StrEnum):
    """Kinds of actors. The last three have neither id nor name."""

    PERSON = "person"
    SERVICE_ACCOUNT = "service_account"
    KEY = "key"  # a key without an owner
    OPERATOR = "operator"  # someone at the shell
    SYSTEM = "system"


class CredentialKind(StrEnum):
    """Kinds of credentials; work of our own shows none."""

    SESSION = "session"
    KEY = "key"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Actor:
    """The user behind an act, or the kind of nobody."""

    kind: ActorKind = ActorKind.SYSTEM
    id: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Credential:
    """A session, or a key by its id, first characters and name."""

    kind: CredentialKind = CredentialKind.NONE
    id: int | None = None
    prefix: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """The user in whose name something is done."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Chain:
    """Actor → credential → on behalf of."""

    actor: Actor = Actor()
    credential: Credential = Credential()
    subject: Subject | None = None

    def acts_for_other(self, user_id: int) -> bool:
        """Return True where someone who signed in acts as another user.

        Such an act uses shared accounts only. The key of a chat backend is no such case: acting for
        users with their own accounts is its purpose.
        """
        return self.credential.kind == CredentialKind.SESSION and self.actor.id != user_id


# Request context: the request id, the client's address, and the chain of whoever acts.
#
# The edges set it, rows and audit entries read it; nothing between them has to pass it on. A
# command or a task has no request: its actor is the operator or the system.

Person = Callable[[], object]
SESSION = Credential(CredentialKind.SESSION)


class ShownKey(Protocol):
    """Details of the request's key, as far as the chain and the audit log need them."""

    @property
    def key_id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def prefix(self) -> str: ...
    @property
    def owner_id(self) -> int | None: ...
    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def rank(self) -> int: ...
    @property
    def is_of_the_installation(self) -> bool: ...
    def knows_of(self, group_id: int) -> bool: ...


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
# Of the whole process, since threads of a command begin with an empty context.
_actor = Actor(ActorKind.SYSTEM)


def current_context() -> RequestContext:
    """Return the context of the current request; an empty one outside of requests."""
    return _context.get()


def current_chain() -> Chain:
    """Return the chain of the current request."""
    context = _context.get()
    if context.key is not None:
        # The key's owner. The kind and the name, which need a statement, are for the log.
        return Chain(
            Actor(ActorKind.KEY)
            if context.key.owner_id is None
            else Actor(ActorKind.PERSON, context.key.owner_id),
            Credential(
                CredentialKind.KEY, context.key.key_id, context.key.prefix, context.key.name
            ),
            context.subject,
        )
    person = context.person()
    # Imported here, because manage.py imports this module before the apps are loaded.
    from django.contrib.auth.models import User

    if isinstance(person, User):
        actor = Actor(ActorKind.PERSON, person.pk, person.get_username())
        return Chain(actor, SESSION, context.subject)
    return Chain(actor_without_request())


@contextmanager
def request_context(*, request_id: str, address: str, person: Person = _nobody) -> Iterator[None]:
    """Run the body in the context of a request; `person` returns its session's user, if any."""
    token = _context.set(RequestContext(request_id, address, person))
    try:
        yield
    finally:
        _context.reset(token)


def note_key(holder: ShownKey) -> None:
    """Note the key that the current request has shown."""
    _context.set(replace(_context.get(), key=holder))


def note_subject(user_id: int, name: str) -> None:
    """Note the user on whose behalf the current request acts."""
    _context.set(replace(_context.get(), subject=Subject(user_id, name)))


def actor_without_request() -> Actor:
    """Return the actor if there is no request."""
    return _actor


def note_operator() -> None:
    """Mark this process as a command that an operator started."""
    global _actor
    _actor = Actor(ActorKind.OPERATOR)
