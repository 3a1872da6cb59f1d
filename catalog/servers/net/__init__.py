"""Guarded outgoing HTTP: every request to an address from outside goes through here.

`address_check` checks the URL (pure, for every process); `guarded_transport` checks the resolved
addresses on connecting. Package managers and the code of servers bypass it.
"""

__all__ = ["address_check", "guarded_requests", "guarded_transport", "outgoing_errors"]
