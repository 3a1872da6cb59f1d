"""Tags and filters of the pages about choosing."""
