"""Chat applications: what is said of them, their keys, figures and conversations."""
