"""Vectors: the embedding providers, the text that is embedded, and the jobs that do it."""

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
