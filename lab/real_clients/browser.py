"""A person's browser: signs in at Pegboard, agrees to what a client asks, and goes back to it.

Run as `xdg-open` would be, with SIGN_IN_USER and SIGN_IN_PASSWORD.
"""

import os
import re
import sys
from http.cookiejar import CookieJar
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

Page = tuple[str, str]  # its address and its text
_SECONDS = 60


def main(address: str) -> None:
    """Open an authorization page and answer it."""
    opener = build_opener(HTTPCookieProcessor(CookieJar()))
    page = _open(opener, address)
    if urlsplit(page[0]).path == "/sign-in/":
        [following] = parse_qs(urlsplit(page[0]).query)["next"]
        login = {"login": os.environ["SIGN_IN_USER"], "password": os.environ["SIGN_IN_PASSWORD"]}
        page = _submit(opener, page, next=following, **login)
    _submit(opener, page, decision="allow")


def _open(opener: OpenerDirector, address: str | Request) -> Page:
    with opener.open(address, timeout=_SECONDS) as answer:
        return answer.geturl(), answer.read().decode()


def _submit(opener: OpenerDirector, page: Page, **fields: str) -> Page:
    address, text = page
    [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', text))
    body = urlencode({"csrfmiddlewaretoken": token, **fields}).encode()
    return _open(opener, Request(address, body, {"Referer": address}))  # noqa: S310 - http


if __name__ == "__main__":
    main(sys.argv[1])
