"""The shape of each kind of entry: one schema for YAML files, GET documents, POST bodies and inline objects."""
