# ruff: noqa: S104 - addresses that are refused, not listened at
"""Addresses that the guarded door refuses, by the ways to write them."""

NEVER_ADDRESSES = (
    "0.0.0.0", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "192.88.99.1",
    "198.18.0.1", "203.0.113.7", "224.0.0.1", "255.255.255.255", "::", "::127.0.0.1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001:0:5ef5::1", "2001:db8::1",
    "2002:7f00:1::", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "no address",
)  # fmt: skip
PRIVATE_ADDRESSES = (
    "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "172.16.0.1", "172.31.255.255",
    "192.168.0.1", "::1", "::ffff:7f00:1", "64:ff9b::7f00:1", "fc00::1", "fd12:3456::1",
)  # fmt: skip
WRITTEN = (
    *(f"https://{host}/" for host in (
        "127.0.0.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "0",
        "[::1]", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]", "169.254.169.254", "[fd00:ec2::254]", "192.0.0.192", "168.63.129.16",
        "100.64.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "0.0.0.0", "224.0.0.1", "198.18.0.1",
        "[fec0::1]", "255.255.255.255", "localhost", "LOCALHOST.", "x.localhost",
        "metadata.internal",
        "①②⑦.⓪.⓪.①", "127。0。0。1", "user:word@example.com", "user@example.com", "[::1%25lo]",
        "example.com:22", "example.com:6379", "exa mple.com", "example.com\\@127.0.0.1", "-a.com",
    )),
    "http://example.com/", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/_x",
    "javascript:alert(1)", "data:text/plain,x", "//example.com/", "/etc/passwd", "https://", "",
    "https:///x", "https://example.com/\r\nHost: x", "https://" + "a" * 3000,
)  # fmt: skip
