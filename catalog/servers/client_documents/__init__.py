"""Reading of OAuth clients' metadata documents, in the outgoing worker."""

__all__ = ["document_reader"]
