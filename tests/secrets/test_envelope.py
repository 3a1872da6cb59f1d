"""Envelopes: anyone with the public half seals, only the keys open."""

import json

import pytest
from cryptography.fernet import Fernet

from catalog.servers.secrets.envelope import (
    CannotOpenError,
    OtherPurposeError,
    open_value,
    public_text,
    seal_value,
)

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


def test_public_half_seals_and_only_its_key_opens() -> None:
    sealed = seal_value("päss\nword", purpose="1/all/TOKEN", public=public_text(OLD))

    assert open_value(sealed, purpose="1/all/TOKEN", keys=(NEW, OLD)) == "päss\nword"
    for keys in ((NEW,), ()):
        with pytest.raises(CannotOpenError):
            open_value(sealed, purpose="1/all/TOKEN", keys=keys)
    with pytest.raises(OtherPurposeError):
        open_value(sealed, purpose="2/all/TOKEN", keys=(OLD,))
    assert seal_value("x", purpose="y", public=public_text(OLD)) != seal_value(
        "x", purpose="y", public=public_text(OLD)
    )


@pytest.mark.parametrize("place", [0, 3, 20, -1])
def test_changed_bytes_do_not_open(place: int) -> None:
    sealed = bytearray(seal_value("x", purpose="y", public=public_text(OLD)))
    sealed[place] ^= 1

    with pytest.raises(CannotOpenError):
        open_value(bytes(sealed), purpose="y", keys=(OLD,))


def test_values_of_earlier_releases_still_open() -> None:
    token = Fernet(OLD).encrypt(json.dumps(["1/all/TOKEN", "kept"]).encode())

    assert open_value(token, purpose="1/all/TOKEN", keys=(NEW, OLD)) == "kept"
    with pytest.raises(CannotOpenError):
        open_value(token, purpose="1/all/TOKEN", keys=(NEW,))
