"""Answers for models: tools in a provider's format, within a token budget, in a mode."""
