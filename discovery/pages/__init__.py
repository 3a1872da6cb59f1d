"""The pages that people use."""
