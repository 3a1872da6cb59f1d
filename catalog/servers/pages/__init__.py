"""Pages for personal secrets and accounts at servers."""
