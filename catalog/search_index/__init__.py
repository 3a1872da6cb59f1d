"""The catalogue's vectors, words and relations in the memory of a process, to rank without reading
them from Postgres. It knows nobody's rights: whoever asks brings the rows that may compete."""
