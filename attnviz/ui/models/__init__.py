"""The parts of the page on trained models: the choice, the load, every head at once, one head, and what it changes."""
