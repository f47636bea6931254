WORDS = "shared, in the egg"
