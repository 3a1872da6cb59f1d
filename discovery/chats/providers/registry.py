"""Registry of the chat APIs, by a model's provider."""

from collections.abc import Mapping

from discovery.chats.providers import anthropic, compatible, gemini, openai
from discovery.chats.providers.base import ProviderAPI

APIS: Mapping[str, ProviderAPI] = {
    "anthropic": anthropic,
    "openai": openai,
    "gemini": gemini,
    "compatible": compatible,
}
