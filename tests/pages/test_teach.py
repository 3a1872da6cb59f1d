"""The page Teach and experiences in the admin: proposals, imports, decisions and refusals."""

import io

import pytest
from django.contrib.auth.models import User

from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from discovery.models import Experience, TaughtMessage
from discovery.teaching.taught_messages import open_proposals, shown_messages
from tests.access.people import People, invite
from tests.factories import UserFactory, remember
from tests.sessions import session_of

pytestmark = pytest.mark.django_db

PATH = "/insights/teach/"
MOONS = ("what phase is the moon in tonight?", "which phase will the moon be in tomorrow night?")


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, groups=[people.support])


def test_page_proposes_imports_and_saves_decisions(people: People, root: User) -> None:
    client, caller = session_of(root), Caller(root.pk, people.support.pk)
    empty = client.get(PATH).content.decode()
    proposed = client.post(PATH, {"do": "propose", "number": "25"})
    file = io.BytesIO(f"{MOONS[0]}\n\n{MOONS[0]}\n".encode())
    file.name = "messages.txt"
    imported = client.post(PATH, {"do": "import", "lines": MOONS[1], "file": file})
    bad = io.BytesIO(b"\xff\xfe\x00")
    bad.name = "messages.txt"
    refused = [
        client.post(PATH, {"do": "import", "lines": "", "file": bad}).status_code,
        client.post(PATH, {"do": "import"}).status_code,
        client.post(PATH, {"do": "propose", "number": "1000"}).status_code,
        client.post(PATH, {"do": "forget", "message": "x"}).status_code,
        client.post(PATH, {"do": "x"}).status_code,
    ]
    first, second, third = open_proposals(caller)[:3]
    body = {
        "do": "save",
        f"decision-{first.pk}": "confirm",
        f"message-{first.pk}": "  please mail   my landlord ",
        f"tool-{first.pk}": people.send.full_name,
        f"others-{first.pk}": people.search.full_name,
        f"decision-{second.pk}": "drop",
        f"decision-{third.pk}": "later",
    }
    hidden = client.post(PATH, {**body, f"others-{first.pk}": people.pay.full_name})
    unknown = client.post(PATH, {**body, f"others-{first.pk}": "payroll__nothing"})
    saved = client.post(PATH, body)
    page = client.get(PATH).content.decode()
    [taught] = shown_messages(caller)
    tools = set(taught.tools.all())
    forgotten = client.post(PATH, {"do": "forget", "message": str(taught.pk)})

    assert "Nothing has been taught yet" in empty
    assert (proposed.status_code, imported.status_code, saved.status_code) == (302, 302, 302)
    assert refused == [422] * 5
    assert (hidden.status_code, unknown.status_code) == (422, 422)
    told = hidden.content.decode().replace(people.pay.full_name, "payroll__nothing")
    assert "You cannot use a tool called" in told
    assert taught.message == "please mail my landlord"
    assert tools == {people.send, people.search}
    assert "please mail my landlord" in page
    assert TaughtMessage.objects.get(pk=second.pk).state == "dropped"
    assert open_proposals(caller).filter(pk=third.pk).exists()
    assert forgotten.status_code == 302
    assert not shown_messages(caller).exists()
    actions = AuditEntry.objects.filter(target="support").values_list("action", flat=True)
    assert set(actions) >= {"learning.teach", "learning.unteach"}


def test_only_admins_teach_and_only_in_groups_of_theirs(people: People) -> None:
    outside = UserFactory.create(username="outside", is_staff=True)

    page = session_of(outside).get(PATH)

    assert session_of(people.alice).get(PATH).status_code == 404
    assert "You are not in a group yet" in page.content.decode()


LIST = "/admin/discovery/experience/"


def test_experiences_are_listed_and_forgotten_after_a_question() -> None:
    people = invite()
    for user in (people.alice, people.bob):
        remember(people.send, user, people.support)
    kept = remember(people.pay, people.charlie, people.finance)
    client = session_of(UserFactory.create(is_staff=True, is_superuser=True))
    assert "gmail__send_email" in client.get(LIST).content.decode()
    assert client.get(f"{LIST}{kept.pk}/change/").status_code == 200

    wanted = list(Experience.objects.filter(group=people.support).values_list("pk", flat=True))
    forgetting = {"action": "delete_selected", "_selected_action": wanted}
    question = client.post(LIST, forgetting)

    assert question.status_code == 200
    assert Experience.objects.count() == 3
    assert client.post(LIST, {**forgetting, "post": "yes"}).status_code == 302
    assert list(Experience.objects.all()) == [kept]
    entries = AuditEntry.objects.filter(action="learning.forget")
    assert [(entry.target, entry.details) for entry in entries] == [("support", {"experiences": 2})]
