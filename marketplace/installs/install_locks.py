"""Lock order of installations: advisory locks first, then rows.

Every transaction that moves an installation and writes elsewhere must take these locks first, or
two of them could deadlock. Updating a row twice in a transaction counts as well: Postgres then
locks the rows it references, and waits for whoever deletes them.
"""

from catalog.locks import lock_catalog, lock_definitions


def lock_integration(integration_id: int) -> None:
    """Lock an integration against other operations until the transaction ends."""
    lock_definitions(integration_id)


def lock_installed(integration_id: int) -> None:
    """Lock an integration and the catalogue until the transaction ends."""
    lock_integration(integration_id)
    lock_catalog()
