"""Definitions of the meta-tools: plain values, the same for every caller."""

__all__ = ["all_metatools", "metatool", "server_tools"]
