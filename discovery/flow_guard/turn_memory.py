"""A turn's memory: the user's words and its digested answers, sealed until the turn ends.

A key of the turn's own seals the answers. That key and the words are sealed with one derived from
the session key: the web opens them for each call, and it cannot open secrets. Losing them makes the
guard blind for the turn, and nothing else.
"""

import json
import os
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from acl.platform.database_connections import rows_of
from discovery.flow_guard.turn_readings import Granted, Reading, TurnReadings
from discovery.flow_guard.user_words import UserWords
from discovery.models import Turn, TurnReading

# Sealing of readings with a turn's own key: cheap enough to open all of them for each call.

KEY_BYTES = 16  # of AES-128
_NONCE = 12  # of GCM: 96 bits (NIST SP 800-38D, section 8.2)
# Of the sealed form; what another version sealed cannot be read.
_VERSION = 3
# Version, flags, and the bytes of tool, place and ids; the tokens follow.
_HEAD = struct.Struct(">BBHHI")
_MOST_BYTES = 0xFFFF  # as the head has two bytes for each length
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
        rows = [{**asdict(grant), "nouns": sorted(grant.nouns)} for grant in reading.granted]
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
        Granted(fields["value"], frozenset(fields["nouns"]), fields["source"], fields["name"])
        for fields in json.loads(text)
    )


OFF = "off"
# Turns that nobody ends are forgotten after this time, as long as an approval is pending.
KEPT_HOURS = 24
MOST_READINGS = 200
_MOST_AT_ONCE = 1000


class ForgottenError(Exception):
    """Error for a turn without a memory that this process can open."""


def seal_words(turn_id: UUID, message: str) -> bytes | None:
    """Return the message with a new key for the turn's readings, sealed; None without a guard."""
    if settings.PEGBOARD_FLOW_GUARD == OFF:
        return None
    key = b64encode(os.urandom(KEY_BYTES)).decode()
    return encrypt(_web_key(), json.dumps([key, message]).encode(), turn_id.bytes)


def _web_key() -> bytes:
    """Derive a key from the session key, which only processes that answer people have."""
    return salted_hmac("discovery.flow_guard.turn_memory", "words", algorithm="sha256").digest()


class TurnMemory:
    """The memory of one turn, as the guard reads and extends it."""

    def __init__(self, turn_id: UUID, sealed_words: bytes, trusted: Iterable[str] = ()) -> None:
        """Raises ForgottenError if the words cannot be opened."""
        try:
            key, message = json.loads(decrypt(_web_key(), sealed_words, turn_id.bytes))
        except (InvalidTag, ValueError):
            raise ForgottenError from None
        self._turn_id, self._cipher = turn_id, ReadingCipher(b64decode(key), turn_id.bytes)
        readings = [
            self._cipher.open(bytes(sealed))
            for [sealed] in list(rows_of(_STORED, {"turn": turn_id, "most": MOST_READINGS + 1}))
        ]
        if len(readings) > MOST_READINGS:
            readings.append(UNREADABLE)
        self.turn = TurnReadings(UserWords([message], trusted), readings)

    def keep(self, reading: Reading, *, call_id: UUID | None = None) -> None:
        """Store a reading. A call is read once, whoever comes second."""
        if len(self.turn.readings) > MOST_READINGS:
            return
        row = TurnReading(
            turn_id=self._turn_id, call_id=call_id, sealed=self._cipher.close(reading)
        )
        TurnReading.objects.bulk_create([row], ignore_conflicts=True)


_STORED = """
SELECT sealed FROM discovery_turnreading WHERE turn_id = %(turn)s::uuid
ORDER BY id LIMIT %(most)s::int
"""


def forget_turn(turn_id: UUID) -> None:
    """Delete the words and readings of a turn that has ended."""
    TurnReading.objects.filter(turn=turn_id).delete()
    Turn.objects.filter(pk=turn_id).update(sealed_words=None)


def forget_old_turns() -> None:
    """Delete the words and readings of turns that nobody ends."""
    old = Q(created_at__lt=Now() - timedelta(hours=KEPT_HOURS), sealed_words__isnull=False)
    turns = list(Turn.objects.filter(old).values_list("pk", flat=True)[:_MOST_AT_ONCE])
    TurnReading.objects.filter(turn__in=turns).delete()
    Turn.objects.filter(pk__in=turns).update(sealed_words=None)
