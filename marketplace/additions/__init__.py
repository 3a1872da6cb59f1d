"""Adding anything by hand: what was pasted is recognised, looked at, and becomes a listing."""
