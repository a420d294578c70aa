"""A small attention-only transformer, trained while one watches: torch and the standard library; it knows no page.

Import from the modules: recipe (what is trained), tasks (on what), model (its sums), trainer (one run), runs (the
runs of a whole server), checkpoint (a trained model as a file).
"""
