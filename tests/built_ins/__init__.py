"""Built-in tools: what each works out, within bounds, through the same door as every call."""
