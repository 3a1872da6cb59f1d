"""Answers to a server's questions come from the credential that made the call, and no other."""

import itertools
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User

from acl.keys.lifecycle import create_key, holder_of
from acl.rights.delegation.authority import KeyHolder
from discovery.calls.queries import has_made
from discovery.mcp.server import _live_call
from discovery.mcp.server._live_call import hear_answer
from discovery.models import Call
from tests.access.people import People
from tests.factories import waiting_call

MAKERS = ("alice's key", "alice's other key", "a backend's key", "alice herself")


def principals(people: People) -> dict[str, KeyHolder | User]:
    found: dict[str, KeyHolder | User] = {"alice herself": people.alice}
    for name in MAKERS[:3]:
        owner: dict[str, Any] = {"owner": people.alice}
        if name.startswith("a "):
            owner = {"acts_for_users": True}
        _, raw = create_key(by=None, name=name, group=people.support, scopes=["execute"], **owner)
        holder = holder_of(raw)
        assert holder is not None
        found[name] = holder
    return found


@pytest.mark.parametrize(("maker", "sender"), [*itertools.product(MAKERS, MAKERS)])
def test_only_the_credential_of_the_call_answers(people: People, maker: str, sender: str) -> None:
    known = principals(people)
    call = waiting_call(people.alice, people.support, people.send, "hello")
    by = known[maker]
    about: dict[str, Any] = {"actor_id": people.alice.pk, "credential": "session"}
    if isinstance(by, KeyHolder):
        about = {"key_id": by.key_id, "actor_id": by.owner_id, "credential": "key"}
    Call.objects.filter(pk=call.pk).update(
        state=Call.State.RUNNING, needs_approval=False, expires_at=None, **about
    )
    call.refresh_from_db()

    with patch.object(_live_call, "send_answer") as sent:
        hear_answer(known[sender], {"id": f"{call.pk.hex}.1", "result": {"action": "accept"}})

    assert has_made(known[sender], call) == (maker == sender)
    assert sent.called == (maker == sender)
