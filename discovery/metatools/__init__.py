"""Definitions of the meta-tools: plain values, the same for every caller."""
