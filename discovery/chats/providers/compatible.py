"""Servers with OpenAI's Chat Completions API, such as Ollama and vLLM. Many need no key."""

from django.utils.translation import gettext_lazy

from catalog.formats.descriptors import JSONObject
from discovery.chats.providers.base import MOST_ANSWER_TOKENS, ModelQuestion
from discovery.chats.providers.openai import FORMAT, chat, headers, read, url

__all__ = ["ADDRESS", "FORMAT", "LABEL", "NEEDS_KEY", "body", "headers", "read", "url"]

LABEL = gettext_lazy("OpenAI-compatible (Ollama, vLLM)")
NEEDS_KEY = False
ADDRESS = ""


def body(question: ModelQuestion) -> JSONObject:
    """Return the body of a request; these servers know the bound by its former name."""
    return {**chat(question), "max_tokens": MOST_ANSWER_TOKENS}
