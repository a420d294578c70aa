"""The numbers: torch and the standard library only; nothing here draws, words or remembers anything.

Import from the modules (``from attnviz.core.attention import attention``): a function re-exported here
would hide the module of the same name.
"""
