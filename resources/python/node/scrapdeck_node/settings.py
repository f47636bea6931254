"""The [scrapdeck] section of scrapyd.conf."""

import os
import ssl
from urllib.parse import urlsplit


class Settings:
    """The connection to Scrapdeck, and the directory in which this node keeps its state."""

    def __init__(self, url, token, state_directory, proxy=None, ca_file=None, insecure_http=False):
        self.url = checked_url(url, insecure_http)
        self.token = token
        self.state_directory = state_directory
        # None: from the environment, `direct`: no proxy.
        self.proxy = proxy
        self.ca_file = ca_file

    @classmethod
    def read(cls, config):
        section = dict(config.items("scrapdeck", default=[]))
        url = os.environ.get("SCRAPDECK_URL") or section.get("url")
        if not url:
            raise ValueError("scrapyd.conf has no [scrapdeck] section with the url of Scrapdeck")
        return cls(
            url=url,
            token=read_token(section),
            state_directory=state_directory_of(config),
            proxy=section.get("proxy") or None,
            ca_file=checked_ca_file(os.environ.get("SCRAPDECK_CA_FILE") or section.get("ca_file")),
            insecure_http=section.get("allow_http", "").lower() in ("1", "on", "true", "yes"),
        )


def read_token(section):
    token = os.environ.get("SCRAPDECK_NODE_TOKEN") or section.get("token")
    if not token:
        path = section.get("token_file")
        if not path:
            raise ValueError("[scrapdeck] in scrapyd.conf needs token_file (or token)")
        with open(path, encoding="utf-8") as file:
            token = file.read()
    token = token.strip()
    if not token or any(not 33 <= ord(char) < 127 for char in token):
        raise ValueError("the token of [scrapdeck] is empty or has characters that no token has")
    return token


def checked_ca_file(path):
    """Read once at the start, so that a wrong path is not taken for a Scrapdeck that does not answer."""
    if not path:
        return None
    path = os.path.abspath(path)
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        raise ValueError(f"ca_file of [scrapdeck] must name a file with certificates (PEM). {path}: {error}") from error
    return path


def state_directory_of(config):
    """Also read by the runner of each spider, which has no use for url and token."""
    section = dict(config.items("scrapdeck", default=[]))
    named = section.get("state_dir")
    if named:
        return os.path.abspath(named)
    dbs_dir = config.get("dbs_dir", "dbs")
    if dbs_dir == ":memory:" or "://" in dbs_dir:
        raise ValueError("dbs_dir of scrapyd.conf is no directory: name one with state_dir in [scrapdeck]")
    return os.path.abspath(os.path.join(dbs_dir, "scrapdeck"))


def checked_url(url, insecure_http):
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"the url of [scrapdeck] must begin with https:// or http://, not {url!r}")
    is_here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "http" and not is_here and not insecure_http:
        raise ValueError(
            "the url of [scrapdeck] is plain http: anybody on the way could read the token. "
            "Use https, or set allow_http = on in [scrapdeck]"
        )
    return url if url.endswith("/") else url + "/"
