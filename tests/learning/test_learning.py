"""Learning of a group from its calls: effects, review and reset."""

import json
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from catalog.embedding.query_vectors import embed_queries
from catalog.models import EmbeddingModel
from discovery.learning import experience_store
from discovery.learning.experience_store import delete_expired
from discovery.models import Experience, Turn
from discovery.select._candidate_rows import CandidateQuery
from discovery.select.candidates import find_candidates
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns.records import select_for_turn
from tests.access.people import People, client_of
from tests.factories import UserFactory, take_away
from tests.learning.conftest import bob_of, one, use
from tests.sessions import session_of

pytestmark = pytest.mark.django_db

MOON = "what phase is the moon in tonight?"
LIKE_IT = "which phase will the moon be in tomorrow night?"


def answer(caller: Caller, message: str = MOON) -> tuple[object, ...]:
    """Return what a selection chose, ranked and left out, and why."""
    selection = select_capabilities(SelectRequest(message, caller))
    return (selection.selected, selection.ranking, selection.excluded_count, selection.reason)


def test_what_was_called_comes_first_when_the_message_comes_again(people: People) -> None:
    assert one(people.caller, MOON, people.read_page) is None  # nothing speaks for it

    use(bob_of(people), MOON, people.read_page)

    after = one(people.caller, MOON, people.read_page)
    assert after is not None
    assert "Used before for similar messages" in after.reasons
    assert after.score > after.evidence["use"] > 0.1
    assert sum(after.evidence.values()) == pytest.approx(after.score, abs=0.001)
    assert select_capabilities(SelectRequest(MOON, people.caller)).ranking[0] == after.identifier


def test_it_counts_for_messages_that_are_like_it_and_for_no_others(people: People) -> None:
    other = "send an email to everyone about the invoices"
    far = answer(people.caller, other)
    assert one(people.caller, LIKE_IT, people.read_page) is None

    use(people.caller, MOON, people.read_page)

    after = one(people.caller, LIKE_IT, people.read_page)
    assert after is not None
    assert after.evidence["use"] > 0
    assert answer(people.caller, other) == far


def test_failures_count_against(people: People) -> None:
    message = "read the page about the moon"
    before = one(people.caller, message, people.read_page)

    use(people.caller, message, people.read_page, score=0.0)

    after = one(people.caller, message, people.read_page)
    assert before is not None
    assert after is not None
    assert after.score < before.score
    assert "use" not in after.evidence
    assert sum(after.evidence.values()) == pytest.approx(after.score, abs=0.001)


def test_three_corrections_of_a_kind_put_a_tool_first_and_three_more_another_one(
    people: People,
) -> None:
    message, same_kind = "what is in the stock prices today?", "what are the stock prices now?"
    other = answer(people.caller, "send an email about the invoices")
    before = _first(people, message)
    assert before not in {"wiki__read_page", "gmail__send_email"}

    for tool in (people.read_page, people.send):
        for count in range(3):
            assert _first(people, message) != tool.full_name, count
            use(people.caller, message, tool)
        for said in (message, same_kind):
            assert _first(people, said) == tool.full_name
    use(people.caller, "get the recipes", people.read_page)
    assert _first(people, message) == people.send.full_name
    assert answer(people.caller, "send an email about the invoices") == other


def _first(people: People, message: str) -> str:
    selection = select_capabilities(SelectRequest(message, people.caller))
    return selection.selected[0].full_name


def test_chat_that_led_to_a_tool_three_times_is_a_request_and_thanks_never_are(
    people: People,
) -> None:
    chat, thanks = "Do you like music?", "thank you very much!"
    for count in range(3):
        for message in (chat, thanks):
            selection = select_capabilities(SelectRequest(message, people.caller))
            assert selection.fit == "small_talk", (message, count)
            use(people.caller, message, people.read_page)

    assert _first(people, chat) == people.read_page.full_name
    assert select_capabilities(SelectRequest(thanks, people.caller)).fit == "small_talk"
    for _ in range(3):
        use(people.caller, chat, people.read_page, score=0.0)
    assert select_capabilities(SelectRequest(chat, people.caller)).fit == "small_talk"


def test_only_what_was_called_for_this_kind_of_message_fits_what_nothing_fits(
    people: People,
) -> None:
    message = "turn off the lights in the living room"
    assert select_capabilities(SelectRequest(message, people.caller)).fit == "nothing_fits"
    use(people.caller, "switch on the heating in the bedroom", people.read_page)
    assert select_capabilities(SelectRequest(message, people.caller)).fit == "nothing_fits"

    use(people.caller, message, people.read_page)

    assert select_capabilities(SelectRequest(message, people.caller)).fit == "fits"


def test_one_statement_selects_and_none_is_added_for_the_turn(people: People) -> None:
    use(people.caller, MOON, people.read_page)

    with CaptureQueriesContext(connection) as statements:
        turn = select_for_turn(SelectRequest(LIKE_IT, people.caller)).turn_id

    assert len(statements) == 2
    assert Turn.objects.get(pk=str(turn)).noted is not None


def test_note_is_gone_once_the_outcome_is_known_and_has_no_words(people: People) -> None:
    turn = use(people.caller, MOON, people.read_page)

    experience = Experience.objects.get()
    assert (experience.turn, experience.worth) == (turn.pk, 1.0)
    assert len(experience.vector) == 384
    assert b"moon" not in bytes(turn.noted or b"")
    turn.refresh_from_db()
    assert turn.noted is None


def test_other_groups_notice_nothing(people: People) -> None:
    people.charlie.groups.add(people.support)
    in_finance = Caller(people.charlie.pk, people.finance.pk)
    before = answer(in_finance), answer(people.stranger, "send an email")

    for message in (MOON, LIKE_IT, "send an email"):
        use(Caller(people.charlie.pk, people.support.pk), message, people.read_page, people.send)

    assert (answer(in_finance), answer(people.stranger, "send an email")) == before


def test_what_a_colleague_may_use_alone_moves_nothing(people: People) -> None:
    use(people.caller, MOON, people.read_page)
    before = answer(people.caller), answer(people.caller, LIKE_IT)

    for number in range(12):
        use(bob_of(people), f"{MOON} {number}", people.delete_page)
        use(bob_of(people), MOON, people.delete_page, score=number / 12)

    assert (answer(people.caller), answer(people.caller, LIKE_IT)) == before
    after = one(bob_of(people), MOON, people.delete_page)
    assert after is not None
    assert "Used before for similar messages" in after.reasons


def test_what_is_revoked_has_no_vote(people: People) -> None:
    use(people.caller, MOON, people.read_page)

    take_away(people.read_page, people.support)

    assert one(people.caller, MOON, people.read_page) is None
    assert "wiki" not in str(answer(people.caller))


def test_nobody_outvotes_the_others_by_repeating_themselves(people: People) -> None:
    for number in range(3):
        user = UserFactory.create(groups=[people.support])
        use(Caller(user.pk, people.support.pk), f"{MOON} {number + 50}", people.read_page)
    for number in range(30):
        use(people.caller, f"{MOON} {number}", people.search)

    said = embed_queries([MOON])
    candidates = find_candidates(
        CandidateQuery(
            caller=people.caller,
            model=said.model,
            vectors=said.vectors,
            words=[{}],
            use_experience=True,
        )
    )

    votes = Counter(experience.capability for experience in candidates.experiences)
    assert votes == {people.search.pk: 3, people.read_page.pk: 3}


def test_switched_off_nothing_is_kept_and_nothing_counts(people: People, settings: object) -> None:
    before = answer(people.caller)
    use(people.caller, MOON, people.read_page)
    settings.PEGBOARD_LEARNING = False  # type: ignore[attr-defined]

    turn = use(people.caller, LIKE_IT, people.read_page)

    assert answer(people.caller) == before
    assert turn.noted is None
    assert Experience.objects.count() == 1


def test_vectors_of_another_model_are_not_compared(people: People) -> None:
    before = answer(people.caller)
    use(people.caller, MOON, people.read_page)

    other = EmbeddingModel.objects.create(name="another", dimension=384)
    Experience.objects.update(model=other)

    assert answer(people.caller) == before


def test_the_same_is_kept_three_times_and_the_oldest_go(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experience_store, "MOST_KEPT", 2)
    for _ in range(5):
        again = use(people.caller, MOON, people.read_page)
    assert Experience.objects.count() == 2 == len({*Experience.objects.values_list("turn")})

    for message in ("bake a cake", "book a train"):
        use(people.caller, message, people.read_page)
    use(bob_of(people), "buy stocks", people.read_page)

    assert Experience.objects.filter(user=people.alice).count() == 2
    assert not Experience.objects.filter(turn=again.pk).exists()
    assert Experience.objects.filter(user=people.bob).count() == 1


def test_old_experiences_and_notes_are_forgotten(people: People, settings: object) -> None:
    old, new = use(people.caller, MOON, people.send), use(people.caller, LIKE_IT, people.send)
    waiting = select_for_turn(SelectRequest(MOON, people.caller)).turn_id
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE discovery_experience SET created_at = now() - '91 days'::interval"
            " WHERE turn = %s",
            [old.pk],
        )
        cursor.execute("UPDATE discovery_turn SET created_at = now() - '8 days'::interval")

    assert delete_expired() == 1

    assert [row.turn for row in Experience.objects.all()] == [new.pk]
    assert Turn.objects.get(pk=str(waiting)).noted is None


def test_deleted_capabilities_and_people_take_their_experiences_along(people: People) -> None:
    use(people.caller, MOON, people.read_page, people.send)
    use(bob_of(people), MOON, people.send)

    people.read_page.delete()
    people.bob.delete()

    assert [row.capability for row in Experience.objects.all()] == [people.send]


def post(client: Client, path: str, **body: Any) -> Any:
    response = client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


@pytest.fixture
def admin(people: People) -> Client:
    _, raw = create_key(by=None, name="admin", group=people.support, scopes=["admin"])
    return Client(headers={"Authorization": f"Bearer {raw}"})


def test_reported_call_counts_for_the_next_message(people: People) -> None:
    backend = client_of(people.support)
    turn = post(backend, "select", message=MOON, user="alice")["turn_id"]

    post(backend, f"turns/{turn}/outcome", called=["wiki__read_page", "wiki__delete_page"])

    answer = post(backend, "select", message=MOON, user="bob", explain=True)
    page = next(item for item in answer["selected"] if item["full_name"] == "wiki__read_page")
    assert "Used before for similar messages" in page["reasons"]
    assert page["evidence"]["use"] > 0
    # alice may not use the other one, so nothing is learned about it.
    assert [row.capability for row in Experience.objects.all()] == [people.read_page]


def test_review_counts_what_the_caller_may_use(people: People) -> None:
    use(people.caller, MOON, people.read_page, people.send)
    use(bob_of(people), f"{MOON} again", people.read_page, score=0.0)
    use(bob_of(people), f"{MOON} again", people.delete_page)

    review = client_of(people.support).get("/api/v1/learning", {"user": "alice"}).json()

    assert (review["on"], review["experiences"], review["turns"]) == (True, 3, 2)
    assert [(row["full_name"], row["times"], row["failed"]) for row in review["capabilities"]] == [
        ("wiki__read_page", 2, 1),
        ("gmail__send_email", 1, 0),
    ]
    assert [check["weight"] for check in review["check"]] == [0.0, 0.1, 0.2, 0.3, 0.45]
    assert (review["weight"], review["repeats"]) == (0.1, 0.25)
    assert review["forgotten_after_days"] == 90


def test_reset_forgets_the_own_group_and_is_in_the_log(people: People, admin: Client) -> None:
    use(people.caller, MOON, people.send)
    use(people.stranger, MOON, people.pay)

    response = admin.delete("/api/v1/learning")

    assert response.status_code == 204
    assert [row.group for row in Experience.objects.all()] == [people.finance]
    entry = AuditEntry.objects.get(action="learning.reset")
    assert (entry.target, entry.details) == ("support", {"experiences": 1})


def test_only_admins_reset_and_people_name_the_group(people: People, admin: Client) -> None:
    use(people.caller, MOON, people.send)
    person = session_of(UserFactory.create(is_staff=True))

    assert client_of(people.support).delete("/api/v1/learning").status_code == 403
    assert admin.delete("/api/v1/learning?group=finance").status_code == 403
    assert person.delete("/api/v1/learning").status_code == 400
    assert Experience.objects.count() == 1
    assert person.delete("/api/v1/learning?group=support").status_code == 204
    assert Experience.objects.count() == 0
