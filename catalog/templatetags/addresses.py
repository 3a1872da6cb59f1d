"""Addresses on pages, alone or in texts, worded without their secrets."""

from django import template

from catalog.formats.secret_redaction import word_address, word_addresses

register = template.Library()


@register.filter
def worded_address(text: str) -> str:
    """Return the address, or the text with addresses, with all redacted that could be a secret."""
    is_address = "://" in text and text.partition("://")[0].isalpha()
    return word_address(text) if is_address and " " not in text else word_addresses(text)
