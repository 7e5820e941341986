"""A question, its answer, and the function between. No Flask, no SQL."""
