"""A chat with a model in a browser, by keyboard alone."""

from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from django.db.models.functions import Now
from playwright.sync_api import Page, expect
from pytest_django import Settings

from discovery.chats.model_sender import send_request
from discovery.chats.models import WantedModel, set_model
from discovery.models import Call, ModelRequest
from tests.chats.fake_models import KEY, MODEL, CallTools, FakeModel, Say, serve
from tests.factories import CapabilityFactory, IntegrationFactory, give
from tests.screens.looking import WIDE_AND_NARROW, show_in, troubles
from tests.worker_parts import in_worker

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def fake(settings: Settings, support: Group) -> Iterator[FakeModel]:
    """A fake provider's server, and a model of support's at it."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", None),)
    letters = IntegrationFactory.create(slug="letters", kind="builtin")
    give(letters, support)
    CapabilityFactory.create(
        integration=letters, action="polite", kind="skill", ai_access="propose",
        content="Begin with a greeting.", description="How to write a polite letter.",
    )  # fmt: skip
    with serve("anthropic") as fake:
        wanted = WantedModel(name="Fable", provider="anthropic", model_id=MODEL,
                             address=fake.address, key=KEY, groups=[support])  # fmt: skip
        set_model(by=None, values=wanted)
        yield fake


def send_all() -> None:
    """Send what is queued, as the worker does."""
    for pk in ModelRequest.objects.filter(state="queued").values_list("pk", flat=True):
        send_request(pk)


def test_a_person_chats_through_an_approval_by_keyboard(
    alices_page: Page, alice: User, fake: FakeModel
) -> None:
    fake.script = [CallTools((("letters__polite", {}),)), Say("Dear Sir or Madam")]
    page, found = alices_page, []
    page.goto("/?message=hello")
    page.get_by_role("link", name="Chat with a model").focus()
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Message").focus()
    page.keyboard.type("write a polite letter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # no comparison
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The model is being asked…")).to_be_visible()

    in_worker(send_all)
    expect(page.get_by_text("A call waits for approval.")).to_be_visible()
    for width, theme in WIDE_AND_NARROW:
        show_in(page, width, theme)
        found += troubles(page)
    Call.objects.update(state="rejected", ended_at=Now())
    expect(page.get_by_text("The model is being asked…")).to_be_visible()
    in_worker(send_all)

    expect(page.get_by_text("Dear Sir or Madam")).to_be_visible()
    assert (found, fake.refusals) == ([], [])
