"""Trained models: loaded, run on a text, and their attention read: queries, keys and values as the model used them."""
