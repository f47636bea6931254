"""Lets a stock Scrapyd pull its jobs from Scrapdeck. docs/pulling-nodes.md describes the protocol."""

# The runner of each spider imports this package for its egg storage: nothing else is imported here.
__version__ = "1.0.0"
PROTOCOL = 1
