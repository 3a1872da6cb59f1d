"""A listing's README as HTML that cannot do harm."""

from functools import lru_cache

from django.utils.safestring import SafeString

from acl.pages.markdown import safe_html

# Hostile Markdown takes time that grows with its square: half a second at this length, once.
LONGEST = 16_000


@lru_cache(maxsize=256)
def readme_html(markdown: str) -> SafeString:
    """The beginning of the text, cut at a line; links lead to https only, pictures are left out."""
    if len(markdown) > LONGEST:
        markdown = markdown[:LONGEST].rpartition("\n")[0] or markdown[:LONGEST]
    return safe_html(markdown)
