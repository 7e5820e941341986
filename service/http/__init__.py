"""The front door: JSON in, dataclass out, and back. No physics, no SQL."""
