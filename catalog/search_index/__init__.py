"""The catalogue's vectors, words and relations in the memory of a process, to rank without reading
them from Postgres. It knows nobody's rights: whoever asks brings the rows that may compete."""

__all__ = ["index_cache", "index_version", "relation_index", "search_index", "word_index"]
