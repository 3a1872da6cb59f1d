"""Listing READMEs, rendered to safe HTML."""

from functools import lru_cache

from django.utils.safestring import SafeString

from acl.pages.markdown import safe_html

# Rendering hostile Markdown takes quadratic time: half a second at this length, then cached.
LONGEST = 16_000


@lru_cache(maxsize=256)
def readme_html(markdown: str) -> SafeString:
    """Render the README, cut at a line if too long. Only https links and no images survive."""
    if len(markdown) > LONGEST:
        markdown = markdown[:LONGEST].rpartition("\n")[0] or markdown[:LONGEST]
    return safe_html(markdown)
