"""Registry of the chat APIs, by a model's provider."""

from collections.abc import Mapping

from discovery.bench.providers import anthropic_api, compatible_api, gemini_api, openai_api
from discovery.bench.providers.provider_base import ProviderAPI

APIS: Mapping[str, ProviderAPI] = {
    "anthropic": anthropic_api,
    "openai": openai_api,
    "gemini": gemini_api,
    "compatible": compatible_api,
}
