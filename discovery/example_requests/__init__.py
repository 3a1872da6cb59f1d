"""Example requests: what people might write for tools that are described poorly."""
