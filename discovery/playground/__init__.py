"""The Playground and the first steps: a message, what is selected for it, and why."""
