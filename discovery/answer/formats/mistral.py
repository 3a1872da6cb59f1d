"""Tool format of Mistral's Chat Completions API, which reads tools as OpenAI's writes them."""

from discovery.answer.formats.openai import argument_names, name_of, render

__all__ = ["LABEL", "MOST_TOOLS", "argument_names", "name_of", "render"]

LABEL = "Mistral"
MOST_TOOLS = 128  # the provider's limit
