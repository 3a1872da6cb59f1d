"""Number of random worlds in the longest property tests.

Few by default, so that all tests take minutes; `make test-long` takes 200, for a nightly run or
before a release.
"""

import os

_WANTED = os.environ.get("PEGBOARD_TEST_EXAMPLES", "")
EXAMPLES = int(_WANTED or 8)
EXAMPLES_OF_PAGES = int(_WANTED or 6)  # each takes every page and call twice
EXAMPLES_OF_WORLDS = int(_WANTED or 15)  # each asks a few hundred questions of the database
EXAMPLES_OF_STORIES = int(_WANTED or 4)  # each asks them again after each of fifteen changes
EXAMPLES_OF_TEXTS = int(_WANTED or 50)  # of functions that ask no database
