"""Number of random worlds in the longest property tests.

Few by default, so that all tests take minutes; PEGBOARD_TEST_EXAMPLES=200 for a nightly run or
before a release.
"""

import os

_WANTED = os.environ.get("PEGBOARD_TEST_EXAMPLES", "")
EXAMPLES = int(_WANTED or 12)
EXAMPLES_OF_PAGES = int(_WANTED or 8)  # each takes every page and call twice
EXAMPLES_OF_WORLDS = int(_WANTED or 30)  # each asks a few hundred questions of the database
EXAMPLES_OF_STORIES = int(_WANTED or 6)  # each asks them again after each of fifteen changes
