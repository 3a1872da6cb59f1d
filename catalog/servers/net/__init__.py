"""Guarded outgoing HTTP: every request to an address from outside goes through here.

`address_check` checks the URL (pure, for every process); `guarded_transport` checks the resolved
addresses on connecting. Package managers and the code of servers bypass it.
"""
