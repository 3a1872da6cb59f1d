"""Sources of listings: reading them on a schedule, a file for each kind."""
