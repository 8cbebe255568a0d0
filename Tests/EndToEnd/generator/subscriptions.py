"""Seeded subscriptions: which devices each place has at first, and how they change."""

import json
import random
import string
import uuid

from generator.inputs import BASE_MS, DAY_MS, Input, compact, iso, subscription_key

TOKEN_ALPHABET = string.ascii_letters + string.digits + "-_"


def make_subscriptions(seed, places=2000, crowd=200):
    """Places and the records that subscribe their devices; the first place has `crowd` devices, some have none."""
    chance = random.Random(f"subscriptions {seed}")
    names, records, shared = [], [], []
    for index in range(places):
        place = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        names.append(place)
        count = crowd if index == 0 else chance.choices(range(6), (10, 25, 25, 20, 10, 10))[0]
        for _ in range(count):
            # One device in twenty is subscribed to several places.
            if shared and chance.random() < 0.05:
                device = chance.choice(shared)
            else:
                device = _device(chance)
                shared.append(device)
            records.append(_subscription(place, device, chance))
        if count and chance.random() < 0.05:
            gone = _subscription(place, _device(chance), chance)
            records += [gone, Input(gone.key, None)]
    broken = _subscription(names[1], _device(chance), chance)
    records.append(Input(broken.key, b'{"audience": "pl'))
    records.append(Input(b"place/|nothing", b"[]"))
    return names, records


def _device(chance):
    if chance.random() < 0.2:
        token = f"{chance.getrandbits(256):064x}"
        return token, "apns", "com.example.courier", chance.choice(("production", "development"))
    token = "device-" + "".join(chance.choices(TOKEN_ALPHABET, k=145))
    return token, "fcm", "com.example.shop", "production"


def _subscription(place, device, chance):
    token, platform, app, environment = device
    audience = f"place/{place}"
    # One in thirty was last seen too long ago to be sent to.
    seen = BASE_MS - chance.randrange(300, 400) * DAY_MS if chance.random() < 1 / 30 else BASE_MS - chance.randrange(DAY_MS)
    value = {
        "audience": audience,
        "token": token,
        "platform": platform,
        "app": app,
        "environment": environment,
        "locale": chance.choice(("de-DE", "en-GB", "da-DK")),
        "registered_at": iso(seen - 30 * DAY_MS),
        "last_seen_at": iso(seen),
    }
    return Input(subscription_key(audience, token), compact(value))


def well_formed(records):
    """Those of the records that subscribe somebody, as a file of subscriptions holds them."""
    return [each for each in records if each.value and each.value.endswith(b"}")]


class SubscriptionChanges:
    """Devices that subscribe, unsubscribe, return and change, after those of `make_subscriptions`."""

    def __init__(self, seed, places, subscriptions):
        self.chance = random.Random(f"changes {seed}")
        self.places = places
        self.live, self.gone = {}, {}
        for each in subscriptions:
            self._note(each)
        self.live = {key: value for key, value in self.live.items() if value.endswith(b"}")}

    def next(self):
        kind = self.chance.random()
        if kind < 0.40 and self.live:
            change = Input(self._any(self.live), None)
        elif kind < 0.55 and self.gone:
            key = self._any(self.gone)
            change = Input(key, self.gone[key])
        elif kind < 0.65 and self.live:
            key = self._any(self.live)
            change = Input(key, compact(json.loads(self.live[key]) | {"app": f"com.example.app{self.chance.randrange(9)}"}))
        elif kind < 0.66:
            # Changes nothing: the table keeps what it has.
            return Input(self._any(self.live or self.gone), b'{"audience": 7}')
        else:
            # One in ten is for the place with the many devices.
            place = self.places[0] if self.chance.random() < 0.1 else self.chance.choice(self.places)
            change = _subscription(place, _device(self.chance), self.chance)
        self._note(change)
        return change

    def _note(self, change):
        if change.value is None:
            self.gone[change.key] = self.live.pop(change.key)
        else:
            self.live[change.key] = change.value
            self.gone.pop(change.key, None)

    def _any(self, keys):
        return self.chance.choice(list(keys))
