"""Stepcast: capacity planning for AI clusters, as a REST service."""

__version__ = "0.1.0"
