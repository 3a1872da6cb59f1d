"""What both clients share: where and how to send, and how to read what comes back.

Talks to Pegboard alone. The key is in the header of each request and nowhere else: not in a log,
a message, a `repr`, nor a redirection, which is not followed.
"""

import re
from typing import Any

import httpx

from pegboard_client.asking import Ask
from pegboard_client.problems import NoAnswer, PegboardError, problem_of
from pegboard_client.retrying import Retries

_KEY = re.compile(r"[\x21-\x7e]+")
_LONGEST_CONNECT = 5.0


class Sending:
    """An address and how to ask there."""

    def __init__(self, base_url: str, api_key: str, timeout: float, retries: Retries) -> None:
        if not _KEY.fullmatch(api_key):
            # Here, since what refuses it later would tell it.
            raise ValueError("An API key has visible ASCII characters only.")
        self.retries = retries
        self.base_url, self._timeout = base_url.rstrip("/"), timeout
        self._headers = {
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "User-Agent": "pegboard-client/0.1.0",
        }

    def request_for(self, ask: Ask[Any]) -> httpx.Request:
        """The request as it is sent."""
        seconds = self._timeout + ask.waits
        timeout = httpx.Timeout(seconds, connect=min(self._timeout, _LONGEST_CONNECT))
        return httpx.Request(
            ask.method,
            self.base_url + ask.path,
            params=dict(ask.query) or None,
            json=ask.body,
            headers=self._headers | dict(ask.headers),
            extensions={"timeout": timeout.as_dict()},
        )


def no_answer(ask: Ask[Any], error: httpx.RequestError) -> NoAnswer:
    """In words, with what httpx says of it as the cause."""
    kind = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "is not there"
    return NoAnswer(f"Pegboard {kind}: {ask.method} {ask.path} ({type(error).__name__})")


def read(response: httpx.Response) -> Any:
    """What was answered; a Problem where it is none."""
    if not response.is_success:
        raise problem_of(response)
    try:
        return response.json()
    except ValueError as error:
        raise PegboardError("The answer is not JSON: is this the address of Pegboard?") from error
