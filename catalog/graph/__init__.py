"""How capabilities are related: `links.py` writes what is stored, `neighbours.py` reads it for a
caller."""
