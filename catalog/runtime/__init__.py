"""Runtime capabilities: made, replaced and retired by API, through the gate."""

__all__ = ["runtime_api", "runtime_pages"]
