"""Version 1 of the API: one endpoint a file."""
