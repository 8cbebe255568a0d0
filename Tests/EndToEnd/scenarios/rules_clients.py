"""What apps, users and backends of the rule machine for devices ask for."""

import collections
from typing import NamedTuple, Optional
from urllib.parse import quote

from generator.inputs import compact
from harness.waiting import now_ms
from model.registrar import sha256
from model.registrar_answers import DONE
from model.registrar_requests import asks
from scenarios.registrar import user_token
from scenarios.rules_world import DEVICES, PERSONS

# What no registrar takes of audiences.
REFUSED = [["user/person 1"], [f"place/{number}" for number in range(201)]]


def body_of(device, **members):
    """A whole device. Each has an app of its own, so that a subscription says whose it is."""
    members = {"app": f"com.example.{device}"} | members
    return with_environment({name: value for name, value in members.items() if value is not None})


def with_environment(body):
    """That of APNs has to be said."""
    is_apns = (body.get("address") or {}).get("kind") == "apns_token"
    return {"environment": "production"} | body if is_apns else body


class Way(NamedTuple):
    """How something is asked: which process, beside the next steps or waiting for the answer, on which condition, and by whom."""

    process: int
    beside: bool = False
    condition: Optional[str] = None
    # A person, or the credential that names a device; None: the backend.
    who: Optional[str] = None
    # Of which device the credential has the secret; None: of the device that it names.
    secret_of: Optional[str] = None


class Clients:
    """What apps and backends remember. What they ask for next depends on no answer but for revisions in If-Match, and secrets."""

    def __init__(self, world):
        self.world = world
        # By device: the last body of a PUT that may be taken, and the app's counter of its changes.
        self.bodies, self.generations = {}, collections.Counter()
        # Everything that was asked for, to be asked for again.
        self.requests = []
        # By person, when the newest token was issued, and the token.
        self.tokens = {}
        for person in PERSONS:
            self.renew(person)

    def renew(self, person):
        """It was issued in a whole second: the shop's clock is ahead, so that it is newer than an erasure before."""
        issued = now_ms() // 1000 + 1
        token = user_token(person, iat=issued, exp=issued + 43_200, audiences=["place/*", "channel/*"])
        self.tokens[person] = issued * 1000, token

    def author(self, way):
        """Who asks, for `asks`; what a command says of it; and the header Authorization."""
        if way.who in DEVICES:
            secret = self.told(f"devices/{way.secret_of or way.who}", "secret", "0" * 43)
            return ("device", way.who), {"by": f"device:{sha256(secret)}"}, f"Device {way.who}:{secret}"
        if way.who:
            issued, token = self.tokens[way.who]
            return ("user", way.who), {"by": f"user:{way.who}", "issued_at": issued}, f"Bearer {token}"
        return ("key", None), {"by": f"key:{self.world.key.split('_')[2]}"}, f"Bearer {self.world.key}"

    def told(self, resource, member, otherwise):
        """The newest that an answer about it has had."""
        answers = (each.answer for each in reversed(self.world.exchanges) if each.resource == resource and each.status in DONE)
        return next((each[member] for each in answers if member in each), otherwise)

    def condition(self, resource, kind):
        """Headers, and what they are in a command."""
        if kind in ("known", "old"):
            revision = self.told(resource, "revision", 0) if kind == "known" else 0
            return {"If-Match": f'"{revision}"'}, {"if_revision": revision}
        return {
            None: ({}, {}),
            "any": ({"If-Match": "*"}, {"if_exists": True}),
            "new": ({"If-None-Match": "*"}, {"if_exists": False}),
        }[kind]

    def ask(self, way, method, *parts, body=None, query=""):
        """`parts` are those of the path, not encoded. The body of an import is a list of lines."""
        path = "/v1/" + "/".join(quote(each, safe=":") for each in parts) + query
        caller, author, authorization = self.author(way)
        asked = asks(caller, method, path, body, DEVICES)
        headers, if_members = self.condition("/".join(parts[:2]), way.condition)
        if isinstance(asked, list):
            asked = [if_members | each for each in asked]
        lines = parts == ("devices:import",)
        if body is not None:
            headers = headers | {"Content-Type": "application/x-ndjson" if lines else "application/json"}
        content = b"\n".join(map(compact, body)) if lines else None if body is None else compact(body)
        self.requests.append((method, path, {"author": author, "asked": asked, "body": content, "headers": headers}, authorization))
        self.repeat(way)

    def repeat(self, way, back=1):
        """The same bytes as of the request so many ago."""
        method, path, members, authorization = self.requests[-min(back, len(self.requests))]
        desk = self.world.desks[way.process]
        exchange = self.world.exchange(desk, method, path, **members)
        if way.beside:
            self.world.do_beside(self.world.ask, desk, exchange, authorization)
        else:
            self.world.ask(desk, exchange, authorization)

    def put(self, way, device, body, query=""):
        body = with_environment(body)
        if body.get("audiences") not in REFUSED:
            self.bodies[device] = body
        # An app that has no secret asks for one with each PUT.
        query = query if self.told(f"devices/{device}", "secret", None) else "?new_secret=1"
        self.ask(way, "PUT", "devices", device, body=body, query=query)
