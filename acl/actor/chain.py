"""The chain of an act: the actor, the credential that was shown, and the subject it was done for.

A person who signs in acts with a session, a program with a key. The actor of a key is its owner; a
key without an owner has none. The subject is the user in whose name something is done: usually the
actor, for the key of a chat backend any user, for an admin perhaps someone else.
"""

from dataclasses import dataclass
from enum import StrEnum


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
