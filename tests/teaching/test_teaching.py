"""Teaching messages: by the command, within the admin's rights, honestly measured."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from acl.rights.caller_lookup import Caller
from catalog.models import Capability, EmbeddingModel
from discovery.learning.experience_store import delete_expired, reset
from discovery.models import Experience, TaughtMessage
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from discovery.teaching.taught_messages import (
    Decision,
    decide,
    import_messages,
    learn_taught,
    offer_tools,
    open_proposals,
    propose_messages,
    shown_messages,
    taught_figures,
)
from tests.access.people import People
from tests.factories import UserFactory, give, take_away
from tests.learning.conftest import one, people

__all__ = ["people"]
pytestmark = pytest.mark.django_db
MOONS = (
    "what phase is the moon in tonight?",
    "which phase will the moon be in tomorrow night?",
    "tell me the phase of the moon on Friday",
)


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, groups=[people.support])


def caller_of(user: User, people: People) -> Caller:
    return Caller(user.pk, people.support.pk)


def teach(root: User, people: People, *messages: str, tool: Capability) -> None:
    caller = caller_of(root, people)
    import_messages(caller=caller, lines=messages)
    decisions = {new.pk: Decision(new.message, (tool.full_name,)) for new in open_proposals(caller)}
    decide(by=root, caller=caller, decisions=decisions)


def test_proposals_come_from_usable_tools_words_in_turn_and_only_once(
    people: People, root: User
) -> None:
    Capability.objects.filter(pk=people.read_page.pk).update(
        examples=["show me the wiki page on holidays", "hi", "open our travel policy"]
    )
    caller = caller_of(root, people)

    number = propose_messages(caller=caller, most=50)
    texts = {new.message: new.source for new in open_proposals(caller)}
    propose_messages(caller=caller, most=50)

    assert number == len(texts)
    assert texts["show me the wiki page on holidays"] == people.read_page
    assert "open our travel policy" in texts
    assert "Get invoices" in texts
    assert "hi" not in texts
    assert people.pay not in texts.values()
    assert people.delete_page not in texts.values()
    assert open_proposals(caller).count() == number
    assert not open_proposals(people.caller).exists()  # each admin has their own


def test_taught_messages_count_at_once_and_are_measured_without_themselves(
    people: People, root: User
) -> None:
    teach(root, people, *MOONS, tool=people.read_page)

    learned = learn_taught()
    again = learn_taught()
    figures = taught_figures(caller_of(root, people))
    every = tuple(TaughtMessage.objects.values_list("pk", flat=True))
    alone = select_capabilities(SelectRequest(MOONS[0], people.caller, apart=every))
    after = one(people.caller, "which phase is the moon in on Saturday?", people.read_page)

    assert (learned, again) == (3, 0)
    assert (figures.number, figures.pending) == (3, 0)
    assert figures.recall_after == 1.0
    assert figures.recall_after >= figures.recall_before
    assert after is not None
    assert after.evidence["use"] > 0
    for taught in TaughtMessage.objects.all():
        place = (*alone.ranking, people.read_page.identifier).index(people.read_page.identifier)
        assert 0 < taught.places_after[0] < (taught.places_before[0] or 21)
        if taught.message == MOONS[0]:
            assert taught.places_before == [place + 1 if place < len(alone.ranking) else 0]


def test_message_has_no_vote_for_itself(people: People, root: User) -> None:
    teach(root, people, MOONS[0], tool=people.read_page)

    learn_taught()

    [taught] = TaughtMessage.objects.all()
    assert taught.places_before == taught.places_after  # nobody else taught anything like it
    assert not any(Experience.objects.get().gains)


def test_taught_evidence_respects_rights(people: People, root: User) -> None:
    give(people.delete_page, root)
    ask = SelectRequest(MOONS[1], people.caller)
    before = select_capabilities(ask)
    teach(root, people, MOONS[0], tool=people.delete_page)

    learn_taught()

    after = select_capabilities(ask)
    assert (after.selected, after.ranking) == (before.selected, before.ranking)
    other = UserFactory.create(is_staff=True, groups=[people.support])
    assert not shown_messages(caller_of(other, people)).exists()
    assert taught_figures(caller_of(other, people)).number == 0
    assert taught_figures(caller_of(root, people)).number == 1
    take_away(people.delete_page, root)
    assert taught_figures(caller_of(root, people)).number == 0


def test_taught_messages_do_not_expire_are_relearned_and_are_reset(
    people: People, root: User
) -> None:
    teach(root, people, MOONS[0], tool=people.read_page)
    learn_taught()
    Experience.objects.update(created_at="2020-01-01T00:00:00Z")

    assert delete_expired() == 0
    old = EmbeddingModel.objects.create(name="another", dimension=384)
    Experience.objects.update(model=old)
    TaughtMessage.objects.update(learned_by=old)
    assert taught_figures(caller_of(root, people)).pending == 1
    assert learn_taught() == 1
    assert Experience.objects.get().model.active
    reset(by=root, group=people.support)

    assert not TaughtMessage.objects.exists()
    assert not Experience.objects.exists()


def test_command_asks_and_shows_what_changes(
    people: People, root: User, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    caller = caller_of(root, people)
    import_messages(caller=caller, lines=[*MOONS, "send an email to my landlord"])
    name = people.read_page.full_name
    said = iter([name, "d", "nothing__here", "s", ""])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(said))
    out = io.StringIO()

    call_command("teach", user="root", group="support", stdout=out)

    told = out.getvalue()
    assert "1 gmail__send_email" in told
    assert "cannot use a tool called" in told
    assert {row.message: row.state for row in TaughtMessage.objects.all()} == {
        MOONS[0]: "confirmed",
        MOONS[1]: "dropped",
        MOONS[2]: "proposed",
        "send an email to my landlord": "confirmed",
    }
    assert "recall@5" in told
    assert offer_tools(caller, open_proposals(caller).get()) is not None
