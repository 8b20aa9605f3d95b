"""Which addresses may be connected to: public ones over http and https, and what was allowed by name of address and port.

The decision is made twice: about how an address is spelled (`Guard.place`) and about the numeric address that a connection is
about to be made to (`Guard.check`). The second one is what protects; the first one refuses spellings that two programs may read
in two ways. A public address may still be a gateway into somebody's private network, which cannot be seen from here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx

from wildenv.errors import ConfigError

LONGEST_URL = 8192
"""A longer address is refused; servers refuse such addresses too."""

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ALLOWED = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<four>[0-9.]+)):(?P<port>[0-9]{1,5})")

_REFUSED_4 = {
    IPv4Network(network): reason
    for network, reason in {
        "0.0.0.0/8": "unspecified",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "private to a carrier",
        "127.0.0.0/8": "loopback",
        "168.63.129.16/32": "metadata of a cloud",
        "169.254.0.0/16": "link-local, where clouds keep metadata",
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "reserved for protocols",
        "192.0.2.0/24": "for documentation",
        "192.88.99.0/24": "a relay of 6to4",
        "192.168.0.0/16": "private",
        "198.18.0.0/15": "for benchmarks",
        "198.51.100.0/24": "for documentation",
        "203.0.113.0/24": "for documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
    }.items()
}

# Of IPv6 only the space of public addresses is let through, so that what is not listed anywhere is refused.
_PUBLIC_6 = IPv6Network("2000::/3")
_REFUSED_6 = {
    IPv6Network(network): reason
    for network, reason in {
        "2001::/23": "reserved for protocols, Teredo among them",
        "2001:db8::/32": "for documentation",
        "2002::/16": "6to4, which holds an IPv4 address",
        "3fff::/20": "for documentation",
    }.items()
}
_HOLDS_4 = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""Mapped addresses, and NAT64: on a network without IPv4 every IPv4 site is reached through the latter."""

_WEB_PORTS = frozenset((80, 443))
_OTHER_SERVICES = frozenset(
    (
        *(1433, 1521, 1719, 1720, 1723, 1883, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432),
        *(5672, 5900, 5901, 6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 9092, 9200, 9300, 10080, 10250),
        *(11211, 27017, *range(6000, 6064)),
    )
)
"""Ports from 1024 up that belong to services which are not web sites and may act on the text of a request."""


class Refused(Exception):
    """An address that may not be connected to; the message says why, for a log."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL leads.

    Attributes:
        scheme: ``http`` or ``https``.
        host: A name in ASCII and lower case, or a numeric address without brackets.
        port: The port.
        target: Path and query as they are sent.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def netloc(self) -> str:
        """Host and port as they stand in a URL; without the port if it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _own_port(self.scheme) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL, without a fragment."""
        return f"{self.scheme}://{self.netloc}{self.target}"


class Guard:
    """Refuses addresses.

    Ports below 1024 other than 80 and 443 are refused, and above that those of well-known services that are not web sites.

    Args:
        allow: Numeric addresses with ports, ``127.0.0.1:8080`` or ``[::1]:8080``, that may be connected to although they are
            private. Setting: `web.allow`.

    Raises:
        ConfigError: If an entry is not an address with a port.
    """

    def __init__(self, allow: Sequence[str] = ()) -> None:
        self._allowed = frozenset(_allowed(entry) for entry in allow)

    def place(self, url: str) -> Place:
        """Reads a URL.

        Raises:
            Refused: If it is not one of the web, is spelled in an odd way, or names an address or port that is refused.
        """
        if len(url) > LONGEST_URL:
            raise Refused(f"longer than {LONGEST_URL} characters")
        try:
            parts = httpx.URL(url)
        except (httpx.InvalidURL, ValueError) as error:
            # A ValueError is what a text that UTF-8 cannot hold causes.
            raise Refused(f"not a URL: {error}") from error
        if parts.scheme not in ("http", "https"):
            raise Refused(f"the scheme {parts.scheme[:20]!r} is neither http nor https")
        if parts.userinfo:
            raise Refused("it holds a user name")
        host = parts.raw_host.decode("ascii")
        port = _own_port(parts.scheme) if parts.port is None else parts.port
        place = Place(parts.scheme, host, port, parts.raw_path.decode("ascii"))
        address = _address(host)
        if address is None:
            _check_name(host)
            _check_port(place.port)
        else:
            self.check(address, place.port)
        return place

    def check(self, address: str | IPv4Address | IPv6Address, port: int) -> None:
        """Decides about a connection that is about to be made.

        Args:
            address: Numeric.
            port: The port.

        Raises:
            Refused: If it must not be made.
        """
        ip = ip_address(address)
        if (ip, port) in self._allowed:
            return
        reason = _refusal(ip)
        if reason is not None:
            raise Refused(f"{ip} is {reason}")
        _check_port(port)


def is_numeric(host: str) -> bool:
    """Says whether a host is a numeric address, in its one regular spelling."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _refusal(ip: IPv4Address | IPv6Address) -> str | None:
    """Says what is wrong with an address; None if it is public."""
    if isinstance(ip, IPv4Address):
        return next((reason for network, reason in _REFUSED_4.items() if ip in network), None)
    if ip.scope_id is not None:
        return "bound to one network interface"
    if any(ip in network for network in _HOLDS_4):
        inner = IPv4Address(int(ip) & 0xFFFF_FFFF)
        reason = _refusal(inner)
        return None if reason is None else f"another form of {inner}, which is {reason}"
    if ip not in _PUBLIC_6:
        return "not in the public part of IPv6"
    return next((reason for network, reason in _REFUSED_6.items() if ip in network), None)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Reads a numeric host; None if it is a name.

    Raises:
        Refused: If it is a number in a spelling that only some programs take for an address: ``0x7f.1``, ``2130706433``.
    """
    if ":" not in host and not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return None
    try:
        return ip_address(host)
    except ValueError as error:
        raise Refused(f"{host[:60]!r} is a number in an odd spelling") from error


def _check_name(host: str) -> None:
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Refused(f"{host[:60]!r} is not a host name")
    if len(labels) < 2:
        # The resolver would complete it with the domain of the network it is in.
        raise Refused(f"{host!r} is a name of a local network")


def _check_port(port: int) -> None:
    if port not in _WEB_PORTS and (not 1024 <= port < 65536 or port in _OTHER_SERVICES):
        raise Refused(f"port {port} is not one of web sites")


def _own_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _allowed(entry: str) -> tuple[IPv4Address | IPv6Address, int]:
    match = _ALLOWED.fullmatch(entry)
    try:
        if match and 0 < int(match["port"]) < 65536:
            return ip_address(match["six"] or match["four"]), int(match["port"])
    except ValueError:
        match = None
    raise ConfigError(f"web.allow holds {entry!r}, which is not an address with a port, such as 127.0.0.1:8080 or [::1]:8080")
