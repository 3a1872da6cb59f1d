"""Sealing of readings with a turn's own key: cheap enough to open all of them for each call."""

import json
import os
from array import array
from dataclasses import asdict
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discovery.flows.turn_readings import Granted, Reading

KEY_BYTES = 16
_NONCE, _LENGTH = 12, 4
_PLAIN = ("tool", "where", "private", "foreign", "clean", "has_text", "cut")
# What cannot be followed counts as private and as a stranger's.
UNREADABLE = Reading("", "", private=True, foreign=True, clean=False, has_text=True, cut=True)


def encrypt(key: bytes, data: bytes, bound_to: bytes) -> bytes:
    """Return data encrypted for one turn."""
    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, data, bound_to)


def decrypt(key: bytes, sealed: bytes, bound_to: bytes) -> bytes:
    """Return what was encrypted for this turn. Raises InvalidTag, and ValueError if it is short."""
    return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], bound_to)


class ReadingCipher:
    """Seals and opens the readings of one turn; those of another turn do not open."""

    def __init__(self, key: bytes, turn: bytes) -> None:
        self._key, self._turn = key, turn

    def close(self, reading: Reading) -> bytes:
        """Return a reading as sealed bytes."""
        head: dict[str, Any] = {name: getattr(reading, name) for name in _PLAIN}
        head["granted"] = [{**asdict(one), "nouns": sorted(one.nouns)} for one in reading.granted]
        text = json.dumps(head).encode()
        payload = len(text).to_bytes(_LENGTH, "big") + text + reading.tokens.tobytes()
        return encrypt(self._key, payload, self._turn)

    def open(self, sealed: bytes) -> Reading:
        """Return a sealed reading, or UNREADABLE if it was sealed otherwise."""
        try:
            payload = decrypt(self._key, sealed, self._turn)
        except (InvalidTag, ValueError):
            return UNREADABLE
        end = _LENGTH + int.from_bytes(payload[:_LENGTH], "big")
        head, tokens = json.loads(payload[_LENGTH:end]), array("I")
        tokens.frombytes(payload[end:])
        granted = tuple(
            Granted(one["value"], frozenset(one["nouns"]), one["source"], one["name"])
            for one in head.pop("granted")
        )
        return Reading(**head, tokens=tokens, granted=granted)
