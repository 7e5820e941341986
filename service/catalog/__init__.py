"""Shipped and custom facts: YAML and JSON in, the core's own types out."""
