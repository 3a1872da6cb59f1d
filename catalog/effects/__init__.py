"""Effects: what a tool does to the world, worked out from its definition, with the evidence."""
