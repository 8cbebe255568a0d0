"""Seeded dispatch records, as the pipeline writes them: of both platforms, several for each device, with expiries from seconds to
hours."""

import hashlib
import random
from typing import NamedTuple

from generator.inputs import Input, compact
from generator.subscriptions import TOKEN_ALPHABET
from model.messages import message_id

# How long until a push expires, in seconds, and how many of a hundred do so.
LIFETIMES = (((2, 10), 10), ((20, 60), 15), ((3_600, 10_800), 75))
# What a text of the payload may have, and must come through as it is.
TEXTS = ("Ihre Bestellung ist da", 'a "quoted" \\ text', 'fake "ttl":"9s"', "日本 🎉", "x" * 300)


class Target(NamedTuple):
    token: str
    token_hash: str
    platform: str
    environment: str

    @classmethod
    def of(cls, token, platform, environment):
        return cls(token, hashlib.sha256(token.encode()).hexdigest(), platform, environment)


def is_dead(token_hash, share):
    """Whether the provider's stand-in calls the device dead at this rate."""
    return int(token_hash[:8], 16) / 2**32 < share


class Pushes:
    """The records for a number of devices, three in ten of them Apple's; some devices get many."""

    def __init__(self, seed, devices, texts=TEXTS):
        self.texts = texts
        self.chance = random.Random(f"pushes {seed}")
        self.name = f"pushes-{seed}"
        self.targets = [self.target() for _ in range(devices)]
        self.weights = [20 if number < devices // 100 else 1 for number in range(devices)]
        self.made = 0

    def target(self):
        if self.chance.random() < 0.3:
            token = f"{self.chance.getrandbits(256):064x}"
            platform, environment = "apns", self.chance.choice(("production", "development"))
        else:
            token = "device-" + "".join(self.chance.choices(TOKEN_ALPHABET, k=145))
            platform, environment = "fcm", ""
        return Target.of(token, platform, environment)

    def next(self, count, now):
        """So many records that are written now, in milliseconds since 1970."""
        records = []
        for target in self.chance.choices(self.targets, self.weights, k=count):
            low, high = self.chance.choices([each for each, _ in LIFETIMES], [weight for _, weight in LIFETIMES])[0]
            records.append(self.record(target, now, now + self.chance.randrange(low * 1000, high * 1000)))
        return records

    def record(self, target, now, expires, key=None):
        """One record for this device; with a collapse key as a request sets it, otherwise as an order's."""
        self.made += 1
        identity = message_id("event", [f"{self.name}-{self.made}"], "order_created", "", now)
        payload = {"message_id": identity, "text": self.chance.choice(self.texts)}
        data = {"default": compact({"data": payload}).decode()}
        if target.platform == "apns":
            app = "com.example.courier"
            value = {
                "device_token": target.token,
                "environment": target.environment,
                "headers": {
                    "apns-topic": app,
                    "apns-push-type": "background",
                    "apns-priority": "5",
                    "apns-expiration": str(expires // 1000),
                    "apns-collapse-id": key or identity,
                },
                "payload": {"aps": {"content-available": 1}, **data},
            }
        else:
            app = "com.example.shop"
            android = {"priority": "high", "ttl": f"{(expires - now) // 1000}s", "collapse_key": key or identity}
            value = {"message": {"token": target.token, "data": data, "android": android}}
        headers = (
            ("message-id", identity.encode()),
            ("platform", target.platform.encode()),
            ("source", f"orders.events/0/{self.made}".encode()),
            ("expires-at", str(expires).encode()),
            ("audience", b"place/1"),
            ("app", app.encode()),
        )
        return Input(target.token_hash.encode(), compact(value), headers)
