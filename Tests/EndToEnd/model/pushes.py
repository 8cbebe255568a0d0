"""A push as the verifier of deliveries sees it: its dispatch record, the requests that the provider got, and its outcomes."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

# The faults of the provider's stand-in with which it takes a request, and its sender gets no answer.
LOST = {"hang", "reset"}
_TTL = re.compile(rb'(?<="ttl":")[^"]*(?=")')


class Request(NamedTuple):
    """A request that the provider got: a line of its stand-in's log, at its place in it."""

    place: int
    time: int
    provider: str
    device: str
    status: int
    message: Optional[str] = None
    id: Optional[str] = None
    collapse: Optional[str] = None
    lifetime: Optional[str] = None
    body: Optional[str] = None
    reason: Optional[str] = None
    fault: Optional[str] = None

    @property
    def is_accepted(self):
        return self.status == 200

    @property
    def is_final(self):
        """Whether its answer ends the push, and its sender got it."""
        return self.fault not in LOST and (self.is_accepted or self.is_dead or self.is_refused)

    @property
    def code(self):
        """What its sender reads as the reason; None if it was accepted, or if its answer was lost."""
        if self.is_accepted or self.fault in LOST:
            return None
        return f"http_{self.status}" if self.reason == "html" else self.reason

    @property
    def is_dead(self):
        return self.fault == "dead" or (self.fault == "invalid" and self.provider == "fcm")

    @property
    def is_refused(self):
        return self.fault == "mismatch" or (self.fault == "invalid" and self.provider == "apns")


def read_requests(path):
    """The log of the provider's stand-in. While that runs, the last line may be written just now."""
    with open(path, "rb") as lines:
        return [Request(place, **json.loads(line)) for place, line in enumerate(lines) if line.endswith(b"\n")]


@dataclass
class Push:
    """One dispatch record."""

    partition: int
    offset: int
    timestamp: int
    device: str
    message: str
    platform: str
    expires: int
    token: str
    # What every request of it has.
    id: Optional[str]
    collapse: Optional[str]
    lifetime: Optional[str]
    body: str
    requests: list = field(default_factory=list)
    # Pairs of the outcome's record and its value.
    outcomes: list = field(default_factory=list)
    # All pushes of the device with its own collapse key, itself among them.
    same_key: list = field(default_factory=list)

    @property
    def own_key(self):
        """The collapse key that its request has set. Other pushes have their message id for one, or none."""
        return None if self.collapse == self.message else self.collapse

    def has_newer_with_its_key(self, time):
        return any(each.offset > self.offset and each.timestamp <= time for each in self.same_key)

    @property
    def name(self):
        return f"{self.partition}/{self.offset} {self.message}"

    @property
    def outcome(self):
        return self.outcomes[0][1]["outcome"] if self.outcomes else None


def note_same_keys(pushes):
    keyed = {}
    for push in pushes:
        if push.own_key:
            push.same_key = keyed.setdefault((push.device, push.own_key), [])
            push.same_key.append(push)


def push_of(record):
    headers = {name: (value or b"").decode() for name, value in record.headers}
    device, message, platform = record.key.decode(), headers["message-id"], headers["platform"]
    value = json.loads(record.value)
    if platform == "apns":
        token, identity = value["device_token"], apns_id(message, device)
        collapse, lifetime = value["headers"].get("apns-collapse-id"), value["headers"]["apns-expiration"]
        # The payload as it is in the record.
        body = record.value[record.value.index(b'"payload":') + len(b'"payload":') : -1]
    else:
        token, identity = value["message"].get("fid") or value["message"]["token"], None
        collapse, lifetime = value["message"]["android"].get("collapse_key"), None
        body = _TTL.sub(b"", record.value, count=1)
    return Push(
        partition=record.partition,
        offset=record.offset,
        timestamp=record.timestamp,
        device=device,
        message=message,
        platform=platform,
        expires=int(headers["expires-at"]),
        token=token,
        id=identity,
        collapse=collapse,
        lifetime=lifetime,
        body=hashlib.sha256(body).hexdigest()[:16],
    )


def apns_id(message, device):
    """A UUID of version 8 from the message id and the hash of the token, the same for every request."""
    digest = bytearray(hashlib.sha256(f"{message}\x1f{device}".encode()).digest()[:16])
    digest[6], digest[8] = digest[6] & 0x0F | 0x80, digest[8] & 0x3F | 0x80
    text = digest.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class LaneOffset(NamedTuple):
    """What a lane has committed of a partition: `v2 n=<partitions> s=<offsets that may have been sent> d=<bits>`."""

    offset: int
    partitions: int
    sent_below: int
    bits: bytes

    @property
    def is_clean(self):
        return self.sent_below <= self.offset

    def has_finished(self, offset):
        at = offset - self.offset
        return at < 0 or (at // 8 < len(self.bits) and bool(self.bits[at // 8] >> at % 8 & 1))


def lane_offset(offset, metadata):
    """None for metadata that is not a lane's."""
    words = metadata.split(" ")
    values = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    if words[0] != "v2" or not {"n", "s"} <= values.keys():
        return None
    text = values.get("d", "")
    bits = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return LaneOffset(offset, int(values["n"]), offset + int(values["s"]), bits)
