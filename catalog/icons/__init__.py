"""Icons of integrations and listings: which address each has, and what is to be read."""

__all__ = ["declared_icons", "faces", "icon_problems"]
