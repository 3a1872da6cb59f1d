"""Notes of turns: a message's vector, its model, and the votes' gains for each candidate.

A turn keeps them until its outcome is reported. They contain no word of the message.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discovery.learning.past_use import LEVELS

NOTHING = (0.0,) * len(LEVELS)
_STEPS = 100  # gains are stored in hundredths, one byte each
_HEAD = struct.Struct("<BHH")
_GAINS = struct.Struct(f"<q{len(LEVELS)}b")
_HALVES = np.dtype("<f2")


@dataclass(frozen=True, slots=True)
class Note:
    """The message's vector by `model`, and the votes' gains by capability and level."""

    model: str
    vector: npt.NDArray[np.floating]
    gains: Mapping[int, tuple[float, ...]]

    def gains_for(self, capability: int) -> tuple[float, ...]:
        return self.gains.get(capability, NOTHING)


def write_note(note: Note) -> bytes:
    """Pack a note into bytes, a tenth of the time and space that text would need."""
    model = note.model.encode()
    gains = (
        _GAINS.pack(key, *(round(gain * _STEPS) for gain in row)) for key, row in note.gains.items()
    )
    head = _HEAD.pack(len(model), len(note.vector), len(note.gains))
    return b"".join((head, model, note.vector.astype(_HALVES).tobytes(), *gains))


def read_note(content: bytes) -> Note:
    """Unpack a note."""
    of_model, of_vector, _ = _HEAD.unpack_from(content)
    vector_at = _HEAD.size + of_model
    gains_at = vector_at + of_vector * _HALVES.itemsize
    return Note(
        content[_HEAD.size : vector_at].decode(),
        np.frombuffer(content[vector_at:gains_at], dtype=_HALVES),
        {
            key: tuple(step / _STEPS for step in steps)
            for key, *steps in _GAINS.iter_unpack(content[gains_at:])
        },
    )
