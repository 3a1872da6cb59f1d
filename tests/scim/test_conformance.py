"""Conformance to RFC 7643 and RFC 7644, by scim2-tester against the whole application."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler
from django.db import close_old_connections

if TYPE_CHECKING:
    from scim2_client.engines.wsgi import WSGISCIMClient

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture
def wsgi_client(raw_key: str) -> "Iterator[WSGISCIMClient]":
    """A SCIM client of the whole application, without a socket between them."""
    # Imported here: it takes two seconds, which every process that collects tests would spend.
    from scim2_client.engines.wsgi import WSGISCIMClient

    # They would end the test's own transaction.
    for signal in (signals.request_started, signals.request_finished):
        signal.disconnect(close_old_connections)
    yield WSGISCIMClient(
        WSGIHandler(),
        base_url="http://testserver/scim/v2",
        headers={"Authorization": f"Bearer {raw_key}"},
    )
    for signal in (signals.request_started, signals.request_finished):
        signal.connect(close_old_connections)


def test_the_server_conforms(wsgi_client: "WSGISCIMClient") -> None:
    from scim2_tester import Status, check_server

    results = check_server(wsgi_client)

    bad = [
        f"{one.title}: {one.reason}"
        for one in results
        if one.status in (Status.ERROR, Status.CRITICAL)
        # An account without the attribute is active: there is no third state to return.
        and str(one.reason) != "Attribute 'active' was not removed"
    ]
    assert not bad, "\n".join(bad)
    assert sum(one.status == Status.SUCCESS for one in results) > 30
