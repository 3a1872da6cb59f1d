"""Reading of declared icons, in the outgoing worker: fetched, drawn anew in a cell, and stored."""
