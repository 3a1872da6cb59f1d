"""OpenAPI documents: reading, choosing, calling and adding them."""
