"""Seeded subscriptions: which devices each audience has at first, and how they change."""

import hashlib
import json
import random
import string
import uuid

from generator.inputs import BASE_MS, DAY_MS, Input, compact, iso, subscription_key

LOCALES = ("de-DE", "de_AT", "DE", "de-Latn-AT", "en-GB", "da-DK", "pt", "", None)
TOKEN_ALPHABET = string.ascii_letters + string.digits + "-_"


def make_subscriptions(seed, places=2000, crowd=200, now=BASE_MS):
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
                device = make_device(chance)
                shared.append(device)
            records.append(make_subscription(f"place/{place}", device, chance, now))
        if count and chance.random() < 0.05:
            gone = make_subscription(f"place/{place}", make_device(chance), chance, now)
            records += [gone, Input(gone.key, None)]
    broken = make_subscription(f"place/{names[1]}", make_device(chance), chance, now)
    records.append(Input(broken.key, b'{"audience": "pl'))
    records.append(Input(b"place/|nothing", b"[]"))
    return names, records


def make_audiences(seed, places, count, now):
    """Audiences of requests, and the records that subscribe their devices: users, channels, some of the places, and devices
    alone. Many devices are in several audiences, as another app in each; some were last seen too long ago in one of them,
    and recently in another. Nobody is in the last one."""
    chance = random.Random(f"audiences {seed}")
    audiences = [f"user/{number}" for number in range(count)]
    audiences += [f"channel/{number}" for number in range(max(1, count // 10))]
    audiences += [f"place/{place}" for place in places[1 : 1 + count // 4]]
    records, alone = [], []
    for _ in range(2 * count):
        device = make_device(chance)
        own = device_audience(device[0])
        if chance.random() < 0.2:
            alone.append(own)
            records.append(make_subscription(own, device, chance, now))
        for audience in chance.sample(audiences, chance.randrange(1, 4)):
            token, platform, app, environment = device
            app = f"{app}.{audience.partition('/')[0]}"
            records.append(make_subscription(audience, (token, platform, app, environment), chance, now))
    return [*audiences, *alone, "user/nobody"], records


def device_audience(token):
    return f"device/{hashlib.sha256(token.encode()).hexdigest()}"


def make_device(chance):
    """Token, platform, app and environment of a new device, one in five of them Apple's."""
    if chance.random() < 0.2:
        token = f"{chance.getrandbits(256):064x}"
        return token, "apns", "com.example.courier", chance.choice(("production", "development"))
    token = "device-" + "".join(chance.choices(TOKEN_ALPHABET, k=145))
    return token, "fcm", "com.example.shop", "production"


def make_subscription(audience, device, chance, now=BASE_MS):
    """The record that subscribes the device, last seen shortly before `now`, or too long before the first event."""
    token, platform, app, environment = device
    # One in thirty was last seen too long ago to be sent to.
    seen = BASE_MS - chance.randrange(300, 400) * DAY_MS if chance.random() < 1 / 30 else now - chance.randrange(DAY_MS)
    value = {
        "audience": audience,
        "token": token,
        "platform": platform,
        "app": app,
        "environment": environment,
        "locale": chance.choice(LOCALES),
        "registered_at": iso(seen - 30 * DAY_MS),
        "last_seen_at": iso(seen),
    }
    # Of Firebase's devices one in four is known by an installation id, and of those that are not some say so.
    if platform == "fcm" and (last := token[-1].lower()) in "abcdefghij":
        value["address_kind"] = "installation_id" if last in "abcdefgh" else "registration_token"
    return Input(subscription_key(audience, token), compact(value))


def well_formed(records):
    """Those of the records that subscribe somebody, as a file of subscriptions holds them."""
    return [each for each in records if each.value and each.value.endswith(b"}")]


class SubscriptionChanges:
    """Devices that subscribe, unsubscribe, return and change, after those of `make_subscriptions` and `make_audiences`.

    Half of the new ones are for the audiences of requests, where there are any: a list that grows with them.
    """

    def __init__(self, seed, places, subscriptions, audiences=(), now=BASE_MS):
        self.chance = random.Random(f"changes {seed}")
        self.places, self.audiences, self.now = places, audiences, now
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
        elif self.audiences and self.chance.random() < 0.5:
            change = self._for_requests()
        else:
            # One in ten is for the place with the many devices.
            place = self.places[0] if self.chance.random() < 0.1 else self.chance.choice(self.places)
            change = make_subscription(f"place/{place}", make_device(self.chance), self.chance, self.now)
        self._note(change)
        return change

    def _for_requests(self):
        device = make_device(self.chance)
        if self.chance.random() < 0.1:
            audience = device_audience(device[0])
            self.audiences.append(audience)
        else:
            # Not those of single devices, to which no other may subscribe.
            audience = self.chance.choice([each for each in self.audiences if not each.startswith("device/")])
        return make_subscription(audience, device, self.chance, self.now)

    def _note(self, change):
        if change.value is None:
            self.gone[change.key] = self.live.pop(change.key)
        else:
            self.live[change.key] = change.value
            self.gone.pop(change.key, None)

    def _any(self, keys):
        return self.chance.choice(list(keys))
