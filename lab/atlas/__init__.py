"""The atlas: packages of the starter collection, installed by a Pegboard and looked at."""
