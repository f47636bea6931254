"""Finds secret values in text, in the forms in which they get there."""

import json
import re
from urllib.parse import quote, quote_plus

MASK = "******"
# Shorter ones would be found everywhere.
SHORTEST = 4


def hider_of(secrets):
    """A function that replaces the secrets in a text; None when there are none to replace."""
    forms = set()
    for secret in secrets:
        if len(secret) >= SHORTEST:
            forms.update((secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret), quote_plus(secret)))
    if not forms:
        return None
    # The longest first: one may be part of another.
    pattern = re.compile("|".join(map(pattern_of, sorted(forms, key=len, reverse=True))))
    return lambda text: pattern.sub(MASK, text)


def pattern_of(form):
    # pprint, which writes the overridden settings, breaks long texts after white space into several literals.
    return "".join(
        re.escape(part) + r"""(?:['"]\s+['"])?""" if part.isspace() else re.escape(part)
        for part in re.split(r"(\s+)", form)
        if part
    )
