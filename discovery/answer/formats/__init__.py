"""Turns a selection into what a model reads: a prompt, and the tools of each provider.

Every list is in the order of full names: the same tools give the same bytes, and a provider's
prompt cache keeps working.
"""
