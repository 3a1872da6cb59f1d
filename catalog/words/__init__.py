"""Words: how names and texts are split, for all that read definitions."""
