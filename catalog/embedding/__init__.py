"""Vectors: the embedding providers, the text to embed, and the embedding jobs."""

__all__ = [
    "configured_embedder",
    "embedder",
    "embedding_jobs",
    "embedding_text",
    "model_conversion",
    "model_provenance",
    "multilingual_embedder",
    "multilingual_model",
    "onnx_embedder",
    "query_vectors",
    "sentence_transformers_embedder",
    "shipped_model",
    "stored_models",
    "vector_batches",
    "vector_index",
    "weight_adapter",
]
