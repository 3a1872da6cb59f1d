"""The page Today, and the forms that handle its rows in place."""
