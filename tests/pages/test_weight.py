"""A page is light, and everything that it loads is ours."""

import re

from django.contrib.staticfiles import finders
from django.test import Client

from catalog.models import Capability

MOST = 100_000


def test_scripts_and_styles_together_are_under_100_kb(as_alice: Client, gmail: Capability) -> None:
    text = as_alice.get("/?message=email").content.decode()

    names = re.findall(r'(?:src|href)="/static/([^"#]+\.(?:css|js))"', text)

    assert len(names) >= 6
    assert sum(_size(name) for name in names) < MOST


def test_nothing_stands_in_the_page_that_the_policy_would_refuse(
    as_alice: Client, gmail: Capability
) -> None:
    for path in ("/", "/?message=email", "/tools/", "/tools/gmail__send_email/", "/sign-in/"):
        text = as_alice.get(path).content.decode()

        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", text), path


def test_the_policy_is_strict_on_our_pages(as_alice: Client, gmail: Capability) -> None:
    policy = as_alice.get("/tools/")["Content-Security-Policy"]

    assert "unsafe" not in policy
    assert "default-src 'self'" in policy


def _size(name: str) -> int:
    path = finders.find(name)
    assert isinstance(path, str)
    with open(path, "rb") as file:  # noqa: PTH123 - finders give a plain text
        return len(file.read())
