"""HTTP to Scrapdeck, with nothing but the standard library. It blocks, so only threads of ours use it."""

import base64
import http.client
import json
import os
import socket
import ssl
import threading
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from scrapdeck_node import __version__

# More than any answer needs, so that a broken proxy cannot fill the memory.
ANSWER_BYTES_MAX = 16 * 1024 * 1024
CONNECT_SECONDS = 15
# OpenSSL's numbers for a certificate that no known authority has signed.
UNKNOWN_ISSUER = (18, 19, 20, 21)


class Unreachable(Exception):
    """No complete answer: it is unknown whether the request arrived."""


class Refused(Exception):
    """Scrapdeck (or a proxy) answered with an error."""

    def __init__(self, status, code, message, retry_after=None):
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.retry_after = retry_after


class Transport:
    """One connection, kept open between requests. Each thread has its own."""

    def __init__(self, settings):
        self._settings = settings
        self._url = urlsplit(settings.url)
        self._connection = None
        self._lock = threading.Lock()
        self._context = None

    def post(self, path, body, timeout):
        """Sends an object or bytes, and returns the object of the answer."""
        is_raw = isinstance(body, bytes)
        content_type = "application/octet-stream" if is_raw else "application/json"
        data = body if is_raw else json.dumps(body).encode()
        response = self._send("POST", path, data, {"Content-Type": content_type}, timeout)
        try:
            answer = self._read(response)
        finally:
            response.close()
        self._check(response, answer)
        try:
            return json.loads(answer)
        except ValueError as error:
            self.close()
            raise Unreachable(f"the answer to {path} is not JSON: {answer[:80]!r}") from error

    def download(self, path, timeout, write):
        """Passes the answer's body to `write` in pieces; returns its length."""
        response = self._send("GET", path, None, {}, timeout)
        try:
            if response.status != 200:
                self._check(response, self._read(response))
            length = 0
            while True:
                piece = response.read(256 * 1024)
                if not piece:
                    return length
                length += len(piece)
                write(piece)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(str(error) or type(error).__name__) from error
        finally:
            response.close()

    def close(self):
        """May be called by another thread: a request that waits for its answer then fails."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if connection.sock is not None:
                connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()

    def _send(self, method, path, data, headers, timeout):
        headers = {
            "Authorization": "Bearer " + self._settings.token,
            "User-Agent": "scrapdeck-node/" + __version__,
            "Accept": "application/json",
            **headers,
        }
        target = self._url.path + "api/node/v1/" + path
        try:
            connection, prefix, extra = self._connected(timeout)
            connection.request(method, prefix + target, body=data, headers={**headers, **extra})
            return connection.getresponse()
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise Unreachable(certificate_problem(error)) from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(str(error) or type(error).__name__) from error

    def _connected(self, timeout):
        proxy = self._proxy()
        plain_proxy = proxy is not None and self._url.scheme == "http"
        prefix = f"http://{self._url.netloc.rpartition('@')[2]}" if plain_proxy else ""
        extra = authorization_of(proxy) if plain_proxy else {}
        with self._lock:
            connection = self._connection
        if connection is None:
            connection = self._connect(proxy)
            with self._lock:
                self._connection = connection
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        return connection, prefix, extra

    def _connect(self, proxy):
        at = self._url if proxy is None else proxy
        port = at.port or (443 if at.scheme == "https" else 80)
        if self._url.scheme == "http":
            kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
            connection = kind(at.hostname, port, timeout=CONNECT_SECONDS)
        else:
            connection = http.client.HTTPSConnection(
                at.hostname, port, timeout=CONNECT_SECONDS, context=self._tls()
            )
            if proxy is not None:
                if proxy.scheme == "https":
                    raise Unreachable("a proxy that itself speaks TLS is not supported; name it with http://")
                connection.set_tunnel(self._url.hostname, self._url.port or 443, headers=authorization_of(proxy))
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A NAT drops silent connections without notice.
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection

    def _tls(self):
        if self._context is None:
            self._context = ssl.create_default_context(cafile=self._settings.ca_file)
        return self._context

    def _proxy(self):
        named = self._settings.proxy
        if named == "direct":
            return None
        if named is None:
            if proxy_bypass(self._url.hostname):
                return None
            named = getproxies().get(self._url.scheme)
        if not named:
            return None
        return urlsplit(named if "://" in named else "http://" + named)

    def _read(self, response):
        try:
            answer = response.read(ANSWER_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(str(error) or type(error).__name__) from error
        if len(answer) > ANSWER_BYTES_MAX:
            self.close()
            raise Unreachable("the answer is too long")
        return answer

    def _check(self, response, answer):
        if response.status == 200:
            return
        code, message, retry_after = "", answer[:200].decode("utf-8", "replace"), None
        try:
            error = json.loads(answer)
            code = str(error.get("code", ""))
            message = str(error.get("message", ""))[:500]
            retry_after = error.get("data", {}).get("retryAfterSeconds")
        except (ValueError, AttributeError):
            # Not from Scrapdeck: a proxy or load balancer that cannot reach it.
            if response.status >= 500 or response.status == 407:
                self.close()
                raise Unreachable(f"HTTP {response.status}") from None
        if response.status >= 500:
            raise Unreachable(f"HTTP {response.status} {code}: {message}")
        raise Refused(response.status, code, message, retry_after)


def certificate_problem(error):
    hint = "; name the certificate of a private CA with ca_file in [scrapdeck]"
    return f"its certificate is rejected: {error.verify_message}{hint if error.verify_code in UNKNOWN_ISSUER else ''}"


def authorization_of(proxy):
    if proxy is None or proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair).decode()}


def hostname():
    return os.environ.get("SCRAPDECK_NODE_HOSTNAME") or socket.gethostname()
