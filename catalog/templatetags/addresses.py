"""Addresses on pages, worded without their secrets."""

from django import template

from catalog.formats.secret_redaction import word_address

register = template.Library()


@register.filter
def worded_address(address: str) -> str:
    """Return the address with everything redacted that could be a secret."""
    return word_address(address)
