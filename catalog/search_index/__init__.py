"""The catalogue's vectors, words and relations in the memory of a process, to rank without reading
them from Postgres. It knows nobody's rights: whoever asks brings the rows that may compete."""

__all__ = [
    "capability_index",
    "index_cache",
    "index_label",
    "relation_index",
    "server_means",
    "word_index",
]
