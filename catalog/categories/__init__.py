"""Categories of tools whose source declares none: by the server first, and the tool second."""

__all__ = ["server_categories"]
