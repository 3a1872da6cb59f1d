"""OpenAPI documents of versions 2.0 to 3.1: read, flattened to tools, and chosen from."""
