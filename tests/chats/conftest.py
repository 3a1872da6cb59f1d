"""Fixtures of chats: alice, who may use a model and two tools, and the worker's part of a chat."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from acl.actor import request_context
from catalog.models import Capability
from discovery.chats.chats import begin_chat, go_on
from discovery.chats.model_sender import send_request
from discovery.chats.models import WantedModel, set_model
from discovery.models import ChatMessage, ChatModel, ModelRequest
from tests.access.people import People
from tests.chats.fake_models import KEY, MODEL, FakeModel, Serve, serve
from tests.factories import CapabilityFactory, IntegrationFactory, give


@pytest.fixture(autouse=True)
def _allowed(settings: Settings) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", None),)


@pytest.fixture
def fakes() -> Iterator[Serve]:
    """Starts strict fakes of providers."""
    with ExitStack() as stack:
        yield lambda provider: stack.enter_context(serve(provider))


@pytest.fixture
def polite(people: People) -> Capability:
    """A skill of alice's beside another one: their calls end at once."""
    integration = IntegrationFactory.create(slug="letters", kind="builtin")
    give(integration, people.support)
    rivers = IntegrationFactory.create(slug="rivers", kind="builtin")
    give(rivers, people.support)
    CapabilityFactory.create(
        integration=rivers,
        action="measure",
        kind="skill",
        description="Measure how deep a river is at one place.",
    )
    return CapabilityFactory.create(
        integration=integration,
        action="polite",
        kind="skill",
        content="Begin with a greeting.",
        description="How to write a polite letter.",
        vector=[0, 0, 1],
    )


@dataclass
class Bench:
    """A model with its fake, and what alice and the worker do."""

    people: People
    fake: FakeModel
    model: ChatModel

    def say(self, text: str = "write a polite letter", *, compare: bool = False) -> ChatMessage:
        alice = self.people.alice
        with request_context(request_id="", address="", person=lambda: alice):
            return begin_chat(
                by=alice, caller=self.people.caller, model=self.model, text=text, compare=compare
            )

    def work(self, message: ChatMessage, *, turns: int = 12) -> ChatMessage:
        """Send requests and go on, as worker and page do in turn, until all rests."""
        alice = self.people.alice
        for _ in range(turns):
            for pk in ModelRequest.objects.filter(state="queued").values_list("pk", flat=True):
                send_request(pk)
            with request_context(request_id="", address="", person=lambda: alice):
                if not go_on(message, by=alice):
                    break
        message.refresh_from_db()
        return message


@pytest.fixture
def bench(people: People, polite: Capability, fakes: Serve) -> Bench:
    return connect(people, fakes("anthropic"))


def connect(people: People, fake: FakeModel) -> Bench:
    """Store a model of the fake's, for support."""
    key = "" if fake.provider == "compatible" else KEY
    wanted = WantedModel(
        name="Fable",
        provider=fake.provider,
        model_id=MODEL,
        address=fake.address,
        key=key,
        groups=[people.support],
    )
    return Bench(people, fake, set_model(by=None, values=wanted))


def admin() -> User:
    return User.objects.create_superuser("root", password="correct horse battery")
