"""Vectors: the embedding providers, the text to embed, and the embedding jobs."""
