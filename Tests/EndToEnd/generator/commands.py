"""Commands about devices and people, at random by seed: registrations, rotations, logins and logouts, what a backend grants."""

import hashlib
import random

from generator.inputs import Input, compact

APP = "com.example.shop"
PLACES = [f"place/{number}" for number in range(12)]
CHANNELS = ["channel/offers", "channel/news", "channel/kino ü"]


class Commands:
    """Few devices, addresses and people, so that they meet often."""

    def __init__(self, seed, devices=40, people=15, addresses=60):
        self.random = random.Random(f"commands {seed}")
        self.devices = [f"installation-{number:04}" for number in range(devices)]
        self.people = [f"person {number}" for number in range(people)]
        self.addresses = [("installation_id", f"fid-{number}") for number in range(addresses // 2)]
        self.addresses += [("apns_token", f"{number:064x}") for number in range(addresses // 2)]

    def next(self):
        kinds = [
            self._put,
            self._rotate,
            self._log_in,
            self._log_out,
            self._change,
            self._delete,
            self._grant,
            self._bury,
            self._erase,
        ]
        return self.random.choices(kinds, [30, 15, 10, 10, 10, 4, 12, 6, 3])[0]()

    def _some(self, values, most):
        return self.random.sample(values, self.random.randint(0, most))

    def _address(self):
        kind, value = self.random.choice(self.addresses)
        return {"kind": kind, "value": value}

    def _device(self, whole=False, **members):
        device = self.random.choice(self.devices)
        return command(action="change_device", device=device, whole=whole, **members)

    def _put(self):
        # An import's are refused where they bring somebody back.
        return self._device(
            **({"unless_erased": True} if self.random.random() < 0.3 else {}),
            whole=True,
            address=self._address(),
            app=APP,
            locale=self.random.choice(["de", "en-GB"]),
            person=self.random.choice(self.people + [None]),
            audiences=self._some(PLACES, 4) + self._some(CHANNELS, 2),
        )

    def _rotate(self):
        return self._device(address=self._address())

    def _log_in(self):
        return self._device(person=self.random.choice(self.people), audiences=self._some(PLACES + CHANNELS, 3))

    def _log_out(self):
        return self._device(person=None)

    def _change(self):
        return self._device(adds=self._some(PLACES, 2), removes=self._some(PLACES + CHANNELS, 2))

    def _delete(self):
        return command(action="delete_device", device=self.random.choice(self.devices))

    def _grant(self):
        return command(action="change_person", person=self.random.choice(self.people), audiences=self._some(PLACES, 3))

    def _bury(self):
        kind, value = self.random.choice(self.addresses)
        # APNs answers about an app, which sometimes is another one.
        apns = {"app": self.random.choice([APP, APP, "com.example.other"]), "environment": "production"}
        return command(
            by="sender",
            action="bury_address",
            address_sha256=hashlib.sha256(value.encode()).hexdigest(),
            platform="apns" if kind == "apns_token" else "fcm",
            **(apns if kind == "apns_token" else {}),
            reason="UNREGISTERED",
            # Later than anything that a device has shown, but not than what comes.
            at=4_000_000_000_000 if self.random.random() < 0.5 else 1,
        )

    def _erase(self):
        return command(action="erase_person", person=self.random.choice(self.people))


def command(by="key:backend", **members):
    """A record of the topic of commands."""
    return Input(None, compact({"version": 1, "by": by} | members))
