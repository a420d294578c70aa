"""The experiments that settle what learners ask: torch alone, the numbers of a page and of the test of its claim."""
