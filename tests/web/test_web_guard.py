"""Which addresses may be connected to."""

from __future__ import annotations

import pytest

from wildenv.errors import ConfigError
from wildenv.web.net.guard import Guard, Refused

PRIVATE = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254 168.63.129.16
169.254.0.1 169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.192 192.0.2.7 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1
198.19.255.255 198.51.100.9 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b::10.1.2.3 64:ff9b:1::1 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:db8::1
2002:7f00:1:: 2002:808:808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1
""".split()

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 169.253.255.255
169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
2001:200::1 2001:4860:4860::8888 2003::1 2606:4700::1111 2a00:1450::1 ::ffff:8.8.8.8 64:ff9b::808:808
""".split()


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public_is_refused(address: str) -> None:
    with pytest.raises(Refused):
        Guard().check(address, 80)
    if "%" not in address:
        with pytest.raises(Refused):
            Guard().place(f"http://[{address}]/" if ":" in address else f"http://{address}/")


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_not(address: str) -> None:
    Guard().check(address, 443)
    host = f"[{address}]" if ":" in address else address
    assert Guard().place(f"https://{host}/a").port == 443


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://134744072/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://0x08080808/",
        "http://0177.0.0.1/",
        "http://8.8.8.08/",
        "http://127.1/",
        "http://8.8.2056/",
        "http://127.0.0.1./",
        "http://8.8.8.8./",
        "http://site.example./",
        "http://site..example/",
        "http://.example.org/",
        "http://１２７.0.0.1/",
        "http://127。0。0。1/",
        "http://127%2e0%2e0%2e1/",
        "http://site%2eexample.org/",
        "http://me@site.example/",
        "http://me:secret@site.example/",
        "http://:@site.example/",
        "http://public.example@127.0.0.1/",
        "http://public.example\\@127.0.0.1/",
        "http://[fe80::1%25eth0]/",
        "http://[::1/",
        "http://localhost/",
        "http://LOCALHOST/",
        "http://metadata/",
        "http:///path",
        "http://",
        "http:site.example",
        "//site.example/",
        "site.example/a",
        "not a url",
        "",
        "http://site.example:99999/",
        "http://site.example:-1/",
        "http://site.example:0/",
        "http://my site.example/",
        "http://site.example\r\nX: y/",
        "http://site.example/a\r\nX: y",
        "http://-site.example/",
        "http://site.example/\ud800",
        "http://\ud800.example/",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a.b" * 100 + ".example/",
        "http://site.example/" + "a" * 9000,
        "file:///etc/passwd",
        "ftp://site.example/",
        "gopher://site.example/",
        "data:text/html,hello",
        "javascript:alert(1)",
        "HTTPX://site.example/",
        "about:blank",
    ],
)
def test_odd_spellings_are_refused(url: str) -> None:
    with pytest.raises(Refused):
        Guard().place(url)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://Site.Example/a?b=c#d", "http://site.example/a?b=c"),
        ("HTTPS://site.example:443", "https://site.example/"),
        ("http://site.example:8080/ä ö", "http://site.example:8080/%C3%A4%20%C3%B6"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
        ("https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("http://a_b.example/", "http://a_b.example/"),
        ("https://[2606:4700::1111]:8443/x", "https://[2606:4700::1111]:8443/x"),
        ("http://1.1.1.1/", "http://1.1.1.1/"),
        ("http://4.example/", "http://4.example/"),
    ],
)
def test_ordinary_addresses_are_read(url: str, same: str) -> None:
    assert Guard().place(url).url == same


@pytest.mark.parametrize("port", [1, 22, 25, 53, 81, 110, 445, 587, 1023, 2375, 3306, 5432, 6000, 6379, 9200, 11211, 27017])
def test_ports_of_other_services_are_refused(port: int) -> None:
    with pytest.raises(Refused, match=f"port {port}"):
        Guard().place(f"http://site.example:{port}/")
    with pytest.raises(Refused, match=f"port {port}"):
        Guard().place(f"http://8.8.8.8:{port}/")


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 8000, 8080, 8443, 65535])
def test_ports_of_web_sites_are_not(port: int) -> None:
    assert Guard().place(f"http://site.example:{port}/").port == port


def test_only_the_address_and_port_that_are_allowed_are() -> None:
    guard = Guard(("127.0.0.1:8080", "[::1]:6379"))
    assert guard.place("http://127.0.0.1:8080/a").url == "http://127.0.0.1:8080/a"
    assert guard.place("http://[::1]:6379/").host == "::1"
    for url in (
        "http://127.0.0.1/",
        "http://127.0.0.1:8081/",
        "http://127.0.0.2:8080/",
        "http://[::1]:8080/",
        "http://[::ffff:127.0.0.1]:8080/",
    ):
        with pytest.raises(Refused):
            guard.place(url)
    with pytest.raises(Refused):
        guard.check("127.0.0.1", 8081)


@pytest.mark.parametrize(
    "entry", ["127.0.0.1", "localhost:80", "127.0.0.1:0", "127.0.0.1:70000", "::1:80", "127.0.0.0/8:80", "", "999.1.1.1:80"]
)
def test_an_allowance_is_an_address_with_a_port(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"web\.allow"):
        Guard((entry,))
