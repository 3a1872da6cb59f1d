"""Text from outside, rendered so that a person sees every character of it."""

__all__ = ["json_text", "pieces", "plain_names", "scripts"]
