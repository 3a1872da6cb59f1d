"""API keys: creating, rotating, revoking, recognising and listing them."""
