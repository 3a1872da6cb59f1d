"""Pages of installing: the form, the progress, and proposed servers."""
