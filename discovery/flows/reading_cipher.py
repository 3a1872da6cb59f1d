"""Sealing of readings with a turn's own key: cheap enough to open all of them for each call."""

import json
import os
import struct
from dataclasses import asdict

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discovery.flows.turn_readings import Granted, Reading

KEY_BYTES = 16
_NONCE = 12
# Of the sealed form; what another version sealed cannot be read.
_VERSION = 3
# Version, flags, and the bytes of tool, place and ids; the tokens follow.
_HEAD = struct.Struct(">BBHHI")
_MOST_BYTES = 0xFFFF
# The bits of the flags, from the lowest.
_FLAGS = ("private", "foreign", "clean", "has_text", "cut")
_FLAGS_OF = [{name: byte >> bit & 1 > 0 for bit, name in enumerate(_FLAGS)} for byte in range(256)]
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
        self._cipher = AESGCM(key)

    def close(self, reading: Reading) -> bytes:
        """Return a reading as sealed bytes."""
        tool, where = (
            text.encode(errors="replace")[:_MOST_BYTES] for text in (reading.tool, reading.where)
        )
        rows = [{**asdict(one), "nouns": sorted(one.nouns)} for one in reading.granted]
        granted = json.dumps(rows).encode() if rows else b""
        flags = sum(getattr(reading, name) << bit for bit, name in enumerate(_FLAGS))
        head = _HEAD.pack(_VERSION, flags, len(tool), len(where), len(granted))
        payload = b"".join((head, tool, where, granted, reading.tokens.tobytes()))
        return encrypt(self._key, payload, self._turn)

    def open(self, sealed: bytes) -> Reading:
        """Return a sealed reading, or UNREADABLE if it was sealed otherwise."""
        try:
            payload = self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._turn)
            version, flags, *lengths = _HEAD.unpack_from(payload)
        except (InvalidTag, ValueError, struct.error):
            return UNREADABLE
        if version != _VERSION:
            return UNREADABLE
        start = _HEAD.size
        place = start + lengths[0]
        ids = place + lengths[1]
        end = ids + lengths[2]
        return Reading(
            payload[start:place].decode(errors="replace"),
            payload[place:ids].decode(errors="replace") if ids > place else "",
            **_FLAGS_OF[flags],
            tokens=memoryview(payload)[end:].cast("I"),
            granted=_granted(payload[ids:end]) if end > ids else (),
        )


def _granted(text: bytes) -> tuple[Granted, ...]:
    return tuple(
        Granted(one["value"], frozenset(one["nouns"]), one["source"], one["name"])
        for one in json.loads(text)
    )
