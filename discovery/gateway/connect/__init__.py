"""Set-up of MCP clients: which address they take, and what each client is told."""

__all__ = ["addresses", "client_setups"]
