"""Registration: the single path on which new and changed definitions are reviewed and stored."""
