"""Number of random worlds in the longest property tests, and of cases that are alike.

Few by default, so that all tests take minutes; `make test-long` takes 200, for a nightly run or
before a release.
"""

import os
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

One = TypeVar("One")
_WANTED = os.environ.get("PEGBOARD_TEST_EXAMPLES", "")
IS_LONG = bool(_WANTED)  # `make test-long`
EXAMPLES = int(_WANTED or 8)
EXAMPLES_OF_PAGES = int(_WANTED or 6)  # each takes every page and call twice
EXAMPLES_OF_WORLDS = int(_WANTED or 15)  # each asks a few hundred questions of the database
EXAMPLES_OF_STORIES = int(_WANTED or 4)  # each asks them again after each of fifteen changes
EXAMPLES_OF_TEXTS = int(_WANTED or 50)  # of functions that ask no database
EACH_OF_ALIKE = bool(_WANTED)  # also what differs in nothing that the code looks at


def some_of(alike: Sequence[One], name: str, number: int = 1) -> Sequence[One]:
    """Return so many of those that the code treats alike, others for each name.

    With larger numbers, all of them.
    """
    if EACH_OF_ALIKE or not alike:
        return alike
    step = max(1, len(alike) // number)
    first = crc32(name.encode())
    return [alike[(first + turn * step) % len(alike)] for turn in range(min(number, len(alike)))]
