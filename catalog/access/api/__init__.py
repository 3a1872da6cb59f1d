"""API of rights: explanations, reach, holders, grants and rules."""
