"""How long one kernel takes: matrix multiplication, attention, and what only moves bytes."""
