"""What every API edge shares: keys, scopes, parsing, limits and problems."""
