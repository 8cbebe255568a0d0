"""`carillon replay dead-letters` where requests are read as well: part of `dead_letters`."""

import collections
import json

from generator.inputs import Input, compact, iso, subscription_key
from harness.daemon import EXIT_IN_USE, EXIT_NOT_IN_TIME, EXIT_REFUSED
from harness.put_back import (
    COORDINATES,
    LENIENT,
    STRICT,
    check_once,
    event,
    letters,
    pipeline,
    put_back,
    put_back_beside,
    returned,
    wait_for_returned,
)
from harness.replaying import CONFIRMATION
from harness.scenario import scenario
from harness.waiting import Failure, expect

STRICT_REQUESTS = STRICT | {"requests.unknown-types": "dead-letter"}


def request(number, kind="Parcel", **members):
    """A request of a type that is not document 2's, unless another one is given."""
    app = {"title": f"t{number}", "body": "b", "data": {"type": kind}}
    body = {"request_id": f"r{number}", "audience": f"user/u{number % 3}", "app": app} | members
    return Input(body["audience"].encode(), compact(body), [("traceparent", f"00-{number}".encode())])


def both_world(harness, name, orders, requests):
    """A world with so many dead letters of orders and of requests that other rules would take, and three requests that no rules
    take: one of them has expired."""
    world = harness.make_world(name)
    world.subscriptions = []
    world.topics["requests"] = f"{world.name}.requests"
    world.create_topics()
    world.cluster.create_topics({world.topics["requests"]: (3, {})})
    devices = [{"audience": "place/p1", "token": f"{world.name}-device-p"}]
    devices += [{"audience": f"user/u{number}", "token": f"{world.name}-device-{number}"} for number in range(3)]
    world.cluster.produce(
        world.topics["subscriptions"],
        [
            Input(subscription_key(each["audience"], each["token"]), compact(each | {"platform": "fcm", "app": "com.example.shop"}))
            for each in devices
        ],
    )
    world.cluster.produce(world.topics["events"], [event(number) for number in range(orders)])
    bad = [
        Input(b"user/u0", b"no JSON"),
        request(900, "NewBill", audience="team/7"),
        request(901, expires_at=iso(1_000_000_000_000)),
    ]
    world.cluster.produce(world.topics["requests"], [request(number) for number in range(requests)] + bad)
    pipeline(world, **STRICT_REQUESTS).stop()
    expect("dead letters", len(letters(world)), orders + requests + len(bad))
    return world


def check_pushes(world, orders, requests):
    """Each record that was put back, and no other, was sent once."""
    sent = collections.Counter(dict(each.headers)["source"].decode() for each in world.cluster.read(world.topics["dispatch"]))
    back = [each.source for topic in ("events", "requests") for each in returned(world, topic)]
    expect("pushes of each record", sent, collections.Counter(back))
    counts = {topic: sum(source.startswith(world.topics[topic] + "/") for source in sent) for topic in ("events", "requests")}
    expect("records that were sent", counts, {"events": orders, "requests": requests})


@scenario(
    "requests go back into their own topic as orders go into theirs: over a kill, a stop and a second start each is back once, and"
    " is sent once",
    background=True,
)
def requests(harness):
    orders, count = 9, 60
    world = both_world(harness, "requests", orders, count)
    events, topic = world.topics["events"], world.topics["requests"]
    (plan,), _ = put_back(world, "--dry-run", rules=STRICT_REQUESTS)
    expect("by the old rules", (plan["events"], plan["left"]), (0, {"still_dead": orders + count + 3}))
    (plan,), _ = put_back(world, "--dry-run", rules=LENIENT | {"topic.requests": ""})
    expect("without requests", (plan["events"], plan["left"]), (orders, {"other_topic": count + 3}))
    (plan,), _ = put_back(world, "--dry-run")
    expect("the plan", (plan["events"], plan["left"]), (orders + count, {"still_dead": 2, "expired": 1}))
    expect("the plan by type", plan["by_type"], {"event_order_created": orders, "app": count})
    expect(
        "the plan by topic",
        plan["by_topic"],
        {
            events: {"missing_order_id": {"dead_letters": orders, "put_back": orders}},
            topic: {
                "unknown_type": {"dead_letters": count + 1, "put_back": count},
                "invalid_json": {"dead_letters": 1, "put_back": 0},
                "bad_request": {"dead_letters": 1, "put_back": 0},
            },
        },
    )
    arguments = (CONFIRMATION, "--confirm", str(orders + count), "--id", world.name)
    topics, slowly = ("events", "requests"), (*arguments, "--rate", "3")

    killed = put_back_beside(world, *slowly)
    wait_for_returned(world, 6, killed, *topics)
    killed.kill()
    stopped = put_back_beside(world, *slowly)
    wait_for_returned(world, 12, stopped, *topics)
    stopped.process.terminate()
    stopped.wait(EXIT_NOT_IN_TIME)
    first = put_back_beside(world, *slowly)
    wait_for_returned(world, 18, first, *topics)
    second = put_back_beside(world, *arguments)
    first.wait(EXIT_IN_USE)
    second.wait(0)
    if f"Put {orders + count} events back into {events} and {topic}, by {world.name}." not in second.printed():
        raise Failure(f"it does not say what it did: {second.printed()}")
    check_once(world, orders, [world.name])
    check_once(world, count, [world.name], "requests")
    (again,), _ = put_back(world, *arguments)
    expect("once more", again["put_back"], orders + count)
    (plan,), _ = put_back(world, "--dry-run")
    expect("by another id", (plan["events"], plan["left"]), (0, {"put_back": orders + count, "still_dead": 2, "expired": 1}))
    pipeline(world, **LENIENT).stop()
    check_pushes(world, orders, count)
    check_once(world, count, [world.name], "requests")


@scenario(
    "types that were added and values that a person has repaired put requests back; one written back by hand is recognised",
    background=True,
)
def repaired_requests(harness):
    world = both_world(harness, "repaired-requests", 1, 3)
    types = world.folder / "app-types.json"
    types.write_text(json.dumps({"Parcel": {}}))
    rules = STRICT_REQUESTS | {"app-types": f"@{types}"}
    by_hand = next(each for each in letters(world) if each.key == b"user/u1")
    world.cluster.produce(
        world.topics["requests"], [Input(by_hand.key, by_hand.value, by_hand.headers)], int(dict(by_hand.headers)[COORDINATES[1]])
    )
    (plan, outcome), _ = put_back(world, CONFIRMATION, "--confirm", "2", "--id", "types", rules=rules)
    expect("with the type", (plan["events"], plan["left"]), (2, {"still_dead": 3, "put_back": 1, "expired": 1}))
    expect("the outcome", (outcome["put_back"], outcome["left"]), (2, {}))
    file = world.folder / "repaired.jsonl"
    by_code = {dict(each.headers)["x-error-code"].decode(): each for each in letters(world)}
    (late,) = [each for each in letters(world) if b"r901" in each.value]
    values = [
        (by_code["invalid_json"], request(902, "NewBill").value),
        (by_code["missing_order_id"], event(1, id="m1").value),
        (late, request(901).value),
    ]
    lines = [
        {"topic": letter.topic, "partition": letter.partition, "offset": letter.offset, "payload": value.decode()}
        for letter, value in values
    ]
    wrong = {"payload": by_code["bad_request"].value.decode()}
    place = {name: getattr(by_code["bad_request"], name) for name in ("topic", "partition", "offset")}
    file.write_text("\n".join(json.dumps(line) for line in [*lines, place | wrong]))
    arguments = (CONFIRMATION, "--confirm", "3", "--repaired", str(file))
    said = put_back(world, *arguments, expected=EXIT_REFUSED, rules=rules)[1]
    if "still bad_request, audience" not in said or "nothing was put back" not in said:
        raise Failure(f"a file with a mistake is refused with: {said}")
    file.write_text("\n".join(json.dumps(line) for line in lines))
    (_, outcome), _ = put_back(world, *arguments, rules=rules)
    expect("what was repaired", outcome["put_back"], 3)
    expect("requests that are back", len(returned(world, "requests")), 4)
    pipeline(world, **rules).stop()
    sent = [dict(each.headers)["source"].decode() for each in world.cluster.read(world.topics["dispatch"])]
    expect("pushes", (len(sent), len(set(sent))), (6, 6))
