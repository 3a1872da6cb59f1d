"""Django's admin asks the same rules as the pages: what is alice's own is not the staff's.

Every registered table of the world has a row; nothing of alice's own is on its pages.
"""

import re

import pytest

from discovery.models import Call
from tests.hostile.asking import parts_of, said, send, words_of
from tests.hostile.places import Place, places_where
from tests.hostile.routes import DJANGO_ADMIN
from tests.hostile.world import OWN_WORD, World

pytestmark = pytest.mark.usefixtures("logs_are_short")
# What admins decide about or answer for, which the pages show them, too.
FOR_ADMINS = {
    "admin/acl/apikey": "its name",
    "admin/acl/accessrequest": "the wish that they answer",
    "admin/acl/auditentry": "the target",
    "admin/catalog/apidocument": "the document that they review",
    "admin/catalog/definition": "the definition that they review",
    "admin/catalog/oauthconnection": "the issuer",
    "admin/catalog/oauthsignin": "why the issuer refused",
    "admin/discovery/turn": "a turn, which staff may read by docs/turns.md",
    "admin/discovery/outcome": "the note of a report, as the page of outcomes",
}
SECRET = "only alice and her bank know"


@places_where(lambda row: row.door is DJANGO_ADMIN)
def test_staff_see_nothing_of_someones_own(world: World, place: Place) -> None:
    Call.objects.update(
        arguments_json=f'{{"text": "{OWN_WORD} {SECRET}"}}', result_json=f'"{OWN_WORD}"',
        message=OWN_WORD, flow={"said": OWN_WORD}, dialogue={"said": OWN_WORD},
        questions=[{"kind": "elicitation", "state": "asked", "text": OWN_WORD}],
    )  # fmt: skip
    client = world.client("root")

    told = []
    for row in place.rows:
        parts = parts_of(world, row)
        text = said(send(client, row, "GET", parts), words_of(parts))
        found = re.search(f".{{0,60}}(?:{OWN_WORD}|{SECRET}).{{0,40}}", text)
        if found and place.name not in FOR_ADMINS:
            told.append(f"{row.route}: {found[0]}")

    assert told == []
