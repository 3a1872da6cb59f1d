"""Actors outside of requests: the operator of a command, or the system."""

from acl.actor.chain import Actor, ActorKind

# Of the whole process, since threads of a command begin with an empty context.
_actor = Actor(ActorKind.SYSTEM)


def actor_without_request() -> Actor:
    """Return the actor if there is no request."""
    return _actor


def note_operator() -> None:
    """Mark this process as a command that somebody has entered."""
    global _actor
    _actor = Actor(ActorKind.OPERATOR)
