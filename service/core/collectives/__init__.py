"""Collectives: one algorithm a file, a table of them, and how NCCL chooses."""
