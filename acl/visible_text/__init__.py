"""Text from outside, rendered so that a person sees every character of it."""
