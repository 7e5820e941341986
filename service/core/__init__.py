"""Pure functions on SI floats; see README.md for what may never be in here."""
