"""The actor of work that no request asked for: the operator of a command, or the system."""

from acl.actor.chain import Actor, ActorKind

# Of the whole process, since threads of a command begin with an empty context.
_actor = Actor(ActorKind.SYSTEM)


def actor_without_request() -> Actor:
    """Return who acts where there is no request."""
    return _actor


def note_operator() -> None:
    """Note that this process is a command that somebody has entered."""
    global _actor
    _actor = Actor(ActorKind.OPERATOR)
