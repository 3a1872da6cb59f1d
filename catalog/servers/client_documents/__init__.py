"""Reading of OAuth clients' metadata documents, in the outgoing worker."""
