"""Readers of every file format, and the cleaning, naming and limits that they share. All of them
return the same descriptors."""
