"""Transport shared by both clients: it builds requests and reads answers.

It talks to Pegboard alone. The key is sent in a header and appears nowhere else: not in logs,
messages or `repr`. Redirects are not followed.
"""

import re
from typing import Any

import httpx

from pegboard_client.api_request import ApiRequest
from pegboard_client.problems import NoAnswer, PegboardError, problem_of
from pegboard_client.retries import Retries

_KEY = re.compile(r"[\x21-\x7e]+")
_LONGEST_CONNECT = 5.0


class Transport:
    """Address, key and timeouts of a Pegboard."""

    def __init__(self, base_url: str, api_key: str, timeout: float, retries: Retries) -> None:
        if not _KEY.fullmatch(api_key):
            # Checked here, since httpx's own error would contain the key.
            raise ValueError("An API key has visible ASCII characters only.")
        self.retries = retries
        self.base_url, self._timeout = base_url.rstrip("/"), timeout
        self._headers = {
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "User-Agent": "pegboard-client/0.2.0",
        }

    def request_for(self, request: ApiRequest[Any]) -> httpx.Request:
        """Build the HTTP request."""
        seconds = self._timeout + request.wait_seconds
        timeout = httpx.Timeout(seconds, connect=min(self._timeout, _LONGEST_CONNECT))
        return httpx.Request(
            request.method,
            self.base_url + request.path,
            params=dict(request.query) or None,
            json=request.body,
            headers=self._headers | dict(request.headers),
            extensions={"timeout": timeout.as_dict()},
        )


def no_answer(request: ApiRequest[Any], error: httpx.RequestError) -> NoAnswer:
    """Build the exception for a failed connection."""
    kind = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "is not there"
    return NoAnswer(f"Pegboard {kind}: {request.method} {request.path} ({type(error).__name__})")


def read_answer(response: httpx.Response) -> Any:
    """Return the answer's JSON; raise a Problem for an error."""
    if not response.is_success:
        raise problem_of(response)
    try:
        return response.json()
    except ValueError as error:
        raise PegboardError("The answer is not JSON: is this the address of Pegboard?") from error
