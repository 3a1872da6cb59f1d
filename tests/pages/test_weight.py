"""Pages load our own files only; tests/screens checks their size."""

import re

from django.test import Client

from catalog.models import Capability


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
