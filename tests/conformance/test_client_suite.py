"""The official conformance suite's servers, used by the client that the worker uses.

The newest release has all servers of the stable one. Each scenario that fails is named here with
its reason; one that passes must not be named.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pytest_django.fixtures import Settings

from tests.conformance.suite import NEWEST, program, run_client_suite
from tests.connection_loops import own_connections

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]
_GRANT = "An extension: a person signs in with a code, and Pegboard has no identity of its own."
_DPOP = "An extension, which the Python SDK does not have."
EXCEPTIONS = {
    "auth/client-credentials-basic": _GRANT,
    "auth/client-credentials-jwt": _GRANT,
    "auth/enterprise-managed-authorization": _GRANT,
    "auth/wif-jwt-bearer": _GRANT,
    "auth/dpop": _DPOP,
    "auth/dpop-nonce": _DPOP,
}


@pytest.fixture(autouse=True)
def _connections(db: None, settings: Settings) -> Iterator[None]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = [("127.0.0.1", None), ("localhost", None)]
    with own_connections():
        yield


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_client_of_the_worker_conforms(tmp_path: Path, revision: str) -> None:
    if not program(NEWEST).is_file():
        pytest.skip("npm could not fetch the suite: run `make install-tests` with a registry")

    outcomes = run_client_suite(NEWEST, tmp_path, "--requirements", revision)

    failed = {name for name, outcome in outcomes.items() if outcome.failures}
    expected = set(EXCEPTIONS) & set(outcomes)
    assert failed == expected, _told(outcomes, failed ^ expected)


def _told(outcomes: Mapping[str, object], names: set[str]) -> str:
    return os.linesep.join(f"{name}: {outcomes[name]}" for name in sorted(names))
