"""A group's committed offsets with their metadata, by Kafka's protocol itself.

confluent-kafka takes the metadata for a C string, but it has a length and no terminator, so that whatever follows it in memory
may come along: also digits, which change the number in its last word.
"""

import socket
import struct

from harness.waiting import Failure, wait_for

OFFSET_FETCH, FIND_COORDINATOR = 9, 10
# The coordinator is only starting, or has only just moved.
TRANSIENT = {14, 15, 16}
# Each connection has one request.
CORRELATION = 1


def committed(bootstrap, group, topic, partitions):
    """(offset, metadata) by partition; -1 and '' where nothing is committed. What an open transaction has sent is not committed,
    and is not waited for."""
    return wait_for(f"the coordinator of {group} answers", lambda: _committed(bootstrap, group, topic, partitions), 30)


def _committed(bootstrap, group, topic, partitions):
    """None where the coordinator is not there yet."""
    host, _, port = bootstrap.split(",")[0].rpartition(":")
    found = _Reader(_ask((host, int(port)), FIND_COORDINATOR, 0, _text(group)))
    if (code := found.number(">h")) in TRANSIENT:
        return None
    _check(code, f"the coordinator of {group}")
    found.number(">i")
    coordinator = found.text(), found.number(">i")
    # One topic, all its partitions.
    request = (
        _text(group) + struct.pack(">i", 1) + _text(topic) + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    )
    reply = _Reader(_ask(coordinator, OFFSET_FETCH, 2, request))
    offsets = {}
    for _ in range(reply.number(">i")):
        reply.text()
        for _ in range(reply.number(">i")):
            partition, offset, metadata = reply.number(">i"), reply.number(">q"), reply.text()
            _check(reply.number(">h"), f"the offset of {topic}/{partition}")
            offsets[partition] = offset, metadata
    if (code := reply.number(">h")) in TRANSIENT:
        return None
    _check(code, f"the offsets of {group}")
    return offsets


def _text(value):
    return struct.pack(">h", len(value.encode())) + value.encode()


def _check(code, what):
    if code:
        raise Failure(f"{what}: error {code} of Kafka's protocol")


def _ask(address, api, version, body):
    """The body of the answer to one request, on a connection of its own."""
    request = struct.pack(">hhi", api, version, CORRELATION) + _text("endtoend") + body
    with socket.create_connection(address, timeout=30) as connection, connection.makefile("rb") as stream:
        connection.sendall(struct.pack(">i", len(request)) + request)
        size, answered = struct.unpack(">ii", stream.read(8))
        if answered != CORRELATION:
            raise Failure(f"an answer to request {answered}, not to {CORRELATION}")
        return stream.read(size - 4)


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self):
        """A text with its length before it; an absent one is empty."""
        size = max(0, self.number(">h"))
        self.at += size
        return self.data[self.at - size : self.at].decode()
