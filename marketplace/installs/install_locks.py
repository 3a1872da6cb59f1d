"""The order in which everybody locks: first one's turn, then rows.

Whoever moves an installation and writes elsewhere in the same transaction takes this first; two who
did not would wait for each other. Twice the same row in one transaction counts, too: Postgres then
looks at what it refers to, and so waits for whoever removes that.
"""

from catalog.locks import lock_catalog, lock_definitions


def lock_integration(integration_id: int) -> None:
    """Wait for one's turn to begin something with it; it ends with the transaction."""
    lock_definitions(integration_id)


def lock_installed(integration_id: int) -> None:
    """Wait for one's turn to change what is installed of it; it ends with the transaction."""
    lock_integration(integration_id)
    lock_catalog()
