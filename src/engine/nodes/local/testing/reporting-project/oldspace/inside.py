WORDS = "old, in the egg"
