"""A training step: where parameters, activations and messages are, and how long each part takes."""
