"""The page on tensors that people bring: their files, what they hold, their maps, and what is wrong with them."""
