"""Finds secret values in text, in all the forms in which they appear there."""

import json
import re
from urllib.parse import quote, quote_plus

MASK = "******"
# Shorter ones would match everywhere.
SHORTEST = 4


def hider_of(secrets):
    """Returns a function that masks the secrets in a text, or None if there are none to mask."""
    forms = set()
    for secret in secrets:
        if len(secret) >= SHORTEST:
            forms.update((secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret), quote_plus(secret)))
    if not forms:
        return None
    # Longest first: one may be part of another.
    pattern = re.compile("|".join(map(pattern_of, sorted(forms, key=len, reverse=True))))
    return lambda text: pattern.sub(MASK, text)


def pattern_of(form):
    # pprint, which logs the overridden settings, splits long strings after white space into several literals.
    return "".join(
        re.escape(part) + r"""(?:['"]\s+['"])?""" if part.isspace() else re.escape(part)
        for part in re.split(r"(\s+)", form)
        if part
    )
