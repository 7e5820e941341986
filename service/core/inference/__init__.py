"""Serving a model: what it takes to hold it, how long a step is, what a steady load gets."""
