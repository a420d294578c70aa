"""Texts of thousands of tokens: the pooled map, and what lies under it."""
