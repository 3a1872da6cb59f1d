"""Number of random worlds in the longest property tests.

Few by default, so that all tests take minutes; PEGBOARD_TEST_EXAMPLES=200 for a nightly run or
before a release.
"""

import os

_WANTED = os.environ.get("PEGBOARD_TEST_EXAMPLES", "")
EXAMPLES = int(_WANTED or 12)
EXAMPLES_OF_PAGES = int(_WANTED or 8)  # each takes every page and call twice
