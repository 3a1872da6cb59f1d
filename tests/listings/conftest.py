"""Fixtures of the marketplace tests."""

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from catalog.registration.embedding_models import register_configured_model
from marketplace.listings.search import embed_listings
from marketplace.listings.store import store_listings
from marketplace.models import Listing
from marketplace.offers.kinds.starter import starter_listings
from tests.pages.conftest import (  # noqa: F401 - fixtures
    admin,
    alice,
    as_admin,
    as_alice,
    page,
    support,
)


@pytest.fixture(autouse=True)
def _keys_and_launchers(settings: Settings) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)


@pytest.fixture
def starter(db: None) -> Listing:
    """The shipped listings with their vectors; Time is one of them."""
    register_configured_model()
    store_listings(starter_listings(), source="starter")
    embed_listings()
    return Listing.objects.get(slug="time")
