"""The catalogue: integrations, their capabilities, and the sources both come from."""
