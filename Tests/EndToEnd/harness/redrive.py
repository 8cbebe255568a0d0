"""Worlds with something that was missed, and processes of `carillon replay redrive`."""

import collections
import hashlib
import json
import subprocess
import tempfile

from generator.inputs import Input, compact
from harness.cluster import PATIENCE, Failure, wait_for
from harness.daemon import CARILLON, run
from harness.scenario import make_world, started

USAGE, IN_USE, NOT_IN_TIME, REFUSED = 64, 3, 75, 78
FLAG = "--i-understand-this-notifies-people"
PLACES = 3


def expect(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: {found}, expected {expected}")


def flags(world, **more):
    settings = world.settings("redrive", **more)
    return [flag for key, value in settings.items() for flag in ("--set", f"{key}={value}")]


def redrive(world, *arguments, expected=0):
    """`carillon replay redrive … --json` to its end: the documents that it printed, and what it said."""
    code, output, errors = run("replay", "redrive", *arguments, "--json", settings=world.settings("redrive"), timeout=120)
    if code != expected:
        raise Failure(f"redrive {' '.join(arguments)} ended with {code}, expected {expected}: {output[-800:]}{errors[-800:]}")
    if "-device-" in output + errors:
        raise Failure(f"a device's token is shown: {output}{errors}")
    return [json.loads(line) for line in output.splitlines()], errors


class Redrive:
    """One that runs beside the test."""

    def __init__(self, world, *arguments, **settings):
        self.errors, self.output = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [CARILLON, "replay", "redrive", *arguments, *flags(world, **settings)],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.errors,
        )

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait(self, expected, seconds=30):
        code = self.process.wait(seconds * PATIENCE)
        if code != expected:
            raise Failure(f"a re-drive ended with {code}, expected {expected}: {self.said()}")
        return self.said()

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode()

    def printed(self):
        self.output.seek(0)
        return self.output.read().decode()

    def expect_running(self):
        if self.process.poll() is not None:
            raise Failure(f"a re-drive ended with {self.process.returncode}: {self.said()}")


def order(number, status="pending", identity=""):
    body = {
        "event_id": f"e{number}{identity}",
        "event_type": "ORDER_STATUS_CHANGED" if identity else "ORDER_CREATED",
        "order": {"id": f"o{number}", "order_number": f"N{number}", "place_id": f"p{number % PLACES}", "status": status},
    }
    return Input(f"o{number}".encode(), compact(body))


def device(world, place, number):
    """The token of a device, and its hash."""
    token = f"{world.name}-device-{place}-{number}"
    return token, hashlib.sha256(token.encode()).hexdigest()


def unsubscribe(world, place, number):
    key = f"place/p{place}|{device(world, place, number)[1]}".encode()
    world.cluster.produce(world.topics["subscriptions"], [Input(key, None)])


def subscribe(world, devices):
    """So many devices of each place."""
    changes = []
    for place in range(PLACES):
        for number in range(devices):
            token, name = device(world, place, number)
            key = f"place/p{place}|{name}".encode()
            value = {"audience": f"place/p{place}", "token": token, "platform": "fcm", "app": "com.example.shop"}
            changes.append(Input(key, compact(value)))
    world.cluster.produce(world.topics["subscriptions"], changes)


def missed(name, orders, devices, cluster=None, updates=()):
    """A world whose events came when nobody was subscribed, and whose devices are there since."""
    world = make_world(name, cluster, partitions=2)
    world.subscriptions = []
    world.create_topics()
    # Somebody else, so that the table has something to be as of.
    world.cluster.produce(world.topics["subscriptions"], [Input(b"place/other|" + b"0" * 64, None)] * 8)
    daemon = started(world)
    world.cluster.produce(world.topics["events"], [order(number) for number in range(orders)])
    world.cluster.produce(world.topics["events"], [order(number, "picking", "u") for number in updates])
    world.wait_until_done()
    daemon.stop()
    subscribe(world, devices)
    return world


def dispatched(world):
    return world.cluster.read(world.topics["dispatch"])


def check_once(world, ids, count):
    """Each push once, and each marked, with one of the ids."""
    records = dispatched(world)
    pushes = collections.Counter((dict(each.headers)["source"], dict(each.headers)["message-id"], each.key) for each in records)
    expect("records of the dispatch topic", len(records), count)
    expect("pushes that were sent more than once", [push for push, times in pushes.items() if times > 1], [])
    expect("the header replay", {dict(each.headers).get("replay", b"").decode() for each in records}, set(ids))
    expect("the last header", {each.headers[-1][0] for each in records}, {"replay"})
    return records


def wait_for_sent(world, count, *running):
    def is_there():
        for each in running:
            each.expect_running()
        return len(dispatched(world)) > count

    wait_for(f"more than {count} pushes are sent", is_there, 30)
