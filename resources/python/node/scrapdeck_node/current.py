"""The node of this process. Scrapyd creates its components from paths in scrapyd.conf, so they meet here."""

# None in the runner of a spider, and before the application was created.
client = None
host = None
