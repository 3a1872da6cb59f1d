"""Descriptions of APIs in other forms, a file each, found by being there: turned into OpenAPI."""
