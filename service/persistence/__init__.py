"""The side door: keeps scenarios, custom catalogue entries and tokens, on SQLite or Postgres."""
