"""Calls of tools: checking, approving, running and reporting them."""
