"""Programs in their cells: what they reach, what they do not, and what the proxy lets through."""
