"""Adding anything by hand: what was pasted is recognised, looked at, and becomes a listing."""

__all__ = [
    "addition_api",
    "addition_pages",
    "addition_requests",
    "recognition",
    "stored_additions",
]
