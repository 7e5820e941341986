"""The transformer: its shape, and what follows from it."""
