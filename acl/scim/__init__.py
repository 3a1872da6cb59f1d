"""SCIM 2.0: people and groups, managed by an identity provider's client with a key."""

from importlib import import_module
from threading import Thread

__all__ = ["scim_urls"]

# Pydantic looks for the source of each of the library's classes in all of the stack, and for each
# frame in all modules: below the imports of our URLs, a second. A thread of its own is shallow.
_loading = Thread(target=import_module, args=("scim2_server.handler",))
_loading.start()
_loading.join()
