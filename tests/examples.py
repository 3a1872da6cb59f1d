"""How many made-up worlds the longest property tests look at.

Few in every run, so that all tests stay within minutes; PEGBOARD_TEST_EXAMPLES=200 for a night's
run, or before a release.
"""

import os

_WANTED = os.environ.get("PEGBOARD_TEST_EXAMPLES", "")
EXAMPLES = int(_WANTED or 25)
EXAMPLES_OF_PAGES = int(_WANTED or 8)  # every page and call twice for each
