"""The guarded door: every HTTP request to an address from outside goes through here.

`address_check` judges the address as written (pure, for every process); `guarded_backend` judges
what its name resolves to when it connects. What package managers and servers' own code do is beyond
it.
"""

__all__ = [
    "address_check",
    "guarded_fetch",
    "guarded_transport",
    "json_delivery",
    "outgoing_errors",
]
