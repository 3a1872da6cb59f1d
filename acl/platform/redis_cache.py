"""Django's cache in Redis, which may be away: then nothing is known, and nothing is kept.

It holds what django-allauth counts and the codes that were used. Wrong passwords and wrong codes
are counted in the database, so while Redis is away only the finer limits rest.
"""

import json
from functools import partial
from typing import Any

from django.core.cache.backends.redis import RedisCache

from acl.platform.redis_circuit import attempt


class JsonSerializer:
    """Values as JSON: reading a pickle would run whatever somebody put into Redis."""

    def dumps(self, value: Any) -> bytes | int:
        """Plain numbers stay numbers, so that Redis can count with them."""
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, text: bytes) -> Any:
        return json.loads(text)


class PatientCache(RedisCache):
    """Each call answers as an empty cache would, where Redis does not."""

    def add(self, *args: Any, **kwargs: Any) -> bool:
        """True where Redis is away: nothing is there yet."""
        call = partial(super().add, *args, **kwargs)
        return attempt(lambda _: bool(call()), default=True)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        call = partial(super().get, key, default=default, version=version)
        return attempt(lambda _: call(), default=default)

    def set(self, *args: Any, **kwargs: Any) -> None:
        call = partial(super().set, *args, **kwargs)
        attempt(lambda _: call(), default=None)

    def delete(self, *args: Any, **kwargs: Any) -> bool:
        call = partial(super().delete, *args, **kwargs)
        return attempt(lambda _: bool(call()), default=False)
