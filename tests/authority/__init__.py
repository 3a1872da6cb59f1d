"""Nobody gets more power than they have, and every word passes one gate."""
