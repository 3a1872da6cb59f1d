"""Icons of integrations and listings: which address each has, and what is to be read."""
