"""The calls of chat backends."""
