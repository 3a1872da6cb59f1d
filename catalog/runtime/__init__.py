"""Runtime capabilities: made, replaced and retired by API, through the gate."""

__all__ = ["pages", "runtime_api"]
