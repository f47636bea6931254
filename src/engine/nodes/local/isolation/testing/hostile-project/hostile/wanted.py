# Paths that are read when the spiders are listed; a test replaces this file.
WANTED = []
