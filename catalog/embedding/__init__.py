"""Vectors: the embedding providers, the text to embed, and the embedding jobs."""

__all__ = [
    "configured_embedder",
    "document_vectors",
    "embedder",
    "embedding_jobs",
    "embedding_text",
    "model_conversion",
    "model_export",
    "model_list",
    "model_switch",
    "onnx_embedder",
    "provenance",
    "query_vectors",
    "sentence_transformers_embedder",
    "shipped_model",
    "weight_adapter",
]
