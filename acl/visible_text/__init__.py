"""Text from outside, written so that a person sees every character of it."""
