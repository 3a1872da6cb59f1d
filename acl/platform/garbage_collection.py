"""Looking for garbage less often, in processes that answer."""

import gc

_NEW_OBJECTS = 10_000  # until the youngest are looked through; Python's own is 700


def settle() -> None:
    """To be called once all is loaded: that stays, and is looked through no more. Models, routes
    and statements are two hundred thousand objects, and each look took its time from a request."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
