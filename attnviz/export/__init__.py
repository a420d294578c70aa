"""A view taken home."""
