"""Every page in every window: looked at by axe, and by people."""
