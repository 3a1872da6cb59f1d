"""Capabilities as callers read them: lists, one with its details, categories, the full listing."""
