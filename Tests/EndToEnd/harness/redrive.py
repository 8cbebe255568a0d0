"""Worlds in which something was missed, and `carillon replay redrive` in them."""

import collections

from generator.inputs import Input, event_about, subscription, unsubscription
from harness.daemon import EXIT_DONE
from harness.replaying import ReplayProcess, documents
from harness.waiting import expect, wait_for

PLACES = 3


def redrive(world, *arguments, expected=EXIT_DONE):
    """`carillon replay redrive … --json` to its end: the documents that it printed, and what it said."""
    return documents(world, "replay", "redrive", *arguments, settings=world.settings("redrive"), expected=expected)


def redrive_beside(world, *arguments, **settings):
    """One that runs beside the test."""
    return ReplayProcess(world, "redrive", *arguments, settings=world.settings("redrive", **settings))


def order(number, status="pending", identity=""):
    """An event about an order: its creation, or with an identity of its own a change of status."""
    body = {"id": f"o{number}", "order_number": f"N{number}", "place_id": f"p{number % PLACES}", "status": status}
    return event_about(body, f"e{number}{identity}", "ORDER_STATUS_CHANGED" if identity else "ORDER_CREATED")


def token(world, place, number):
    return f"{world.name}-device-{place}-{number}"


def unsubscribe(world, place, number):
    world.cluster.produce(world.topics["subscriptions"], [unsubscription(f"p{place}", token(world, place, number))])


def subscribe(world, devices):
    """So many devices of each place."""
    changes = [subscription(f"p{place}", token(world, place, number)) for place in range(PLACES) for number in range(devices)]
    world.cluster.produce(world.topics["subscriptions"], changes)


def missed(world, orders, devices, updates=()):
    """Makes the world one whose events came when nobody was subscribed, and whose devices are there since."""
    world.subscriptions = []
    world.create_topics()
    # Somebody else, so that the table has something to be as of.
    world.cluster.produce(world.topics["subscriptions"], [Input(b"place/other|" + b"0" * 64, None)] * 8)
    daemon = world.started()
    world.cluster.produce(world.topics["events"], [order(number) for number in range(orders)])
    world.cluster.produce(world.topics["events"], [order(number, "picking", "u") for number in updates])
    world.wait_until_done()
    daemon.stop()
    subscribe(world, devices)
    return world


def dispatched(world):
    return world.cluster.read(world.topics["dispatch"])


def check_once(world, ids, count):
    """Each push is there once, and marked with one of the ids."""
    records = dispatched(world)
    pushes = collections.Counter((dict(each.headers)["source"], dict(each.headers)["message-id"], each.key) for each in records)
    expect("records of the dispatch topic", len(records), count)
    expect("pushes that were sent more than once", [push for push, times in pushes.items() if times > 1], [])
    expect("the header replay", {dict(each.headers).get("replay", b"").decode() for each in records}, set(ids))
    expect("the last header", {each.headers[-1][0] for each in records}, {"replay"})
    return records


def wait_for_sent(world, count, *running):
    """Until more than that is sent, while these run. A look takes seconds on a busy machine, and they send on meanwhile: their rate
    must leave them enough for that."""

    def is_there():
        is_more = len(dispatched(world)) > count
        for each in running:
            each.expect_running()
        return is_more

    wait_for(f"more than {count} pushes are sent", is_there, 30)
