"""The parts of the page on which a small model is trained in front of the reader."""
