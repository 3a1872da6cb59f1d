"""Fixtures of learning: alice, bob and charlie, with some tools embedded by the shipped model."""

import pytest
from django.conf import settings

from acl.rights.caller_lookup import Caller
from catalog.embedding.configured_embedder import configured_embedder
from catalog.embedding.jobs import embed_pending
from catalog.embedding.shipped_model import prepare_model
from catalog.models import Capability, Embedding, EmbeddingModel
from discovery.learning.experience_store import record_experience
from discovery.models import Turn
from discovery.select.selection import Selected, SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns.records import select_for_turn
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, give


@pytest.fixture
def people(db: None) -> People:
    """Support has many tools, none about the moon; bob may use the whole wiki, too."""
    prepare_model(settings.PEGBOARD_MODEL_DIR)
    EmbeddingModel.objects.create(name=configured_embedder().name, dimension=384, active=True)
    people = invite()
    for subject in (
        "invoices",
        "holidays",
        "music",
        "stock prices",
        "recipes",
        "train times",
    ):
        CapabilityFactory.create(
            integration=people.gmail,
            action=subject.replace(" ", "_"),
            description=f"Get {subject}.",
        )
    give(people.delete_page, people.bob)
    Embedding.objects.update(vector=None, vector_hash="")
    embed_pending()
    return people


def bob_of(people: People) -> Caller:
    return Caller(people.bob.pk, people.support.pk)


def use(caller: Caller, message: str, *called: Capability, score: float = 1.0) -> Turn:
    """Store a turn with calls of these."""
    turn = Turn.objects.get(pk=str(select_for_turn(SelectRequest(message, caller)).turn_id))
    record_experience(turn=turn, called=[capability.pk for capability in called], score=score)
    return turn


def one(caller: Caller, message: str, capability: Capability) -> Selected | None:
    """Return a capability's entry in a selection."""
    selection = select_capabilities(SelectRequest(message, caller))
    return next((item for item in selection.selected if item.pk == capability.pk), None)
