"""Advice of an operator's chat model on choosing tools, where it is switched on."""
