"""Template tags of the pages about choosing."""
