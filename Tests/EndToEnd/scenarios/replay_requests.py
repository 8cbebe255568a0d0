"""`carillon replay` and `carillon explain` over events and requests: what was sent under kills is rendered again byte for byte,
each request is explained, and missed pushes of requests are sent once."""

import collections
import json
import random
import sys
import time

from generator.inputs import Input, compact
from harness.daemon import EXIT_DONE, EXIT_USAGE
from harness.redrive import check_once, dispatched, order, redrive, redrive_beside, subscribe, wait_for_sent
from harness.replaying import CONFIRMATION, documents
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, wait_for

EXIT_DIFFERENCE = 1
NONE = dict.fromkeys(("unequal", "missing", "extra", "duplicates", "foreign"), 0)


def document(world, *words, expected=EXIT_DONE):
    found, said = documents(world, "replay", *words, settings=world.settings("replay"), expected=expected)
    return found[0] if found else said


def explain(world, *words):
    return documents(world, "explain", *words, settings=world.settings("replay"))[0]


def source_of(record):
    return dict(record.headers)["source"].decode()


@scenario("what both topics gave under kills is rendered again byte for byte, and each request is explained")
def zero(harness):
    world = harness.make_world("zero-over-both", partitions=3, users=40).create_topics()
    daemon = world.daemon("a").start()
    chance = random.Random(harness.seed)

    def produce(count):
        world.produce(count)
        world.produce_requests(count)

    for _ in range(4):
        produce(400)
        time_out = time.monotonic() + chance.uniform(0.2, 1.5)
        wait_for("a moment has passed", lambda: time.monotonic() > time_out, 5)
        daemon.kill()
        daemon.start()
    produce(100)
    world.wait_until_done(90)
    daemon.stop()
    records = dispatched(world)
    of_requests = [each for each in records if source_of(each).startswith(world.topics["requests"] + "/")]
    found = document(world, "diff")
    expect("differences", {name: found[name] for name in NONE}, NONE)
    expect("records that are the same", (found["equal"], found["approximations"]), (len(records), []))
    if not 100 < len(of_requests) < len(records):
        raise Failure(f"{len(of_requests)} of {len(records)} records are of requests")
    check_selection(world, records, of_requests)
    check_explanations(world, of_requests)
    check_writing(world, records)
    check_planted(world, of_requests)
    print(f"         {len(records):,} records, {len(of_requests):,} of requests", flush=True)


def check_selection(world, records, of_requests):
    """Each topic by itself, parts of it, and what it cannot be."""
    requests, events = world.topics["requests"], world.topics["events"]
    found = [document(world, "diff", "--topic", topic)["equal"] for topic in (requests, events)]
    expect("records by topic", found, [len(of_requests), len(records) - len(of_requests)])
    parts = [document(world, "diff", "--topic", requests, "--offsets", part)["equal"] for part in ("..150", "150..")]
    expect("records of both parts", sum(parts), len(of_requests))
    then = document(world, "plan", "--subscriptions", "as-of-event")
    expect("devices of the plan", then["devices"], len(records))
    if not {"expired", "no_subscriber"} <= set(then["suppressed"]) or "bad_request" not in then["dead_letters"]:
        raise Failure(f"the plan has {then['suppressed']} and {then['dead_letters']}")
    said = document(world, "diff", "--topic", "unknown", expected=EXIT_USAGE)
    if "--topic unknown is not allowed" not in said:
        raise Failure(f"of an unknown topic it says: {said}")


def check_explanations(world, of_requests):
    """By the id of a request and by that of its push; where the records stand; and why others were not sent."""
    sample = of_requests[len(of_requests) // 2]
    (said,) = [
        each
        for each in explain(world, "--request", dict(sample.headers)["message-id"].decode())
        if each["source"] == source_of(sample)
    ]
    expect("the outcome", (said["outcome"], said["timer"]), ("sent", False))
    if sample.source not in [at for push in said["pushes"] for at in push["at"]] and said["devices"] <= 20:
        raise Failure(f"{sample.source} is not in {said['pushes']}")
    if "request_id" in said:
        again = explain(world, "--request", said["request_id"])
        if said["source"] not in [each["source"] for each in again]:
            raise Failure(f"--request {said['request_id']} gives {again}")
    codes = collections.Counter(
        dict(each.headers)["x-error-code"].decode() for each in world.cluster.read(world.topics["dead-letters"])
    )
    if not codes["bad_request"]:
        raise Failure(f"no request is a dead letter: {codes}")


def check_writing(world, records):
    """Lines of both topics; the topic of requests is refused as the others are."""
    code, output, _ = world.harness.run(
        "replay", "write", "--output", "-", "--subscriptions", "as-of-event", settings=world.settings("replay")
    )
    # A text may have U+2028, at which splitlines() would split.
    lines = [json.loads(line) for line in output.split("\n") if line]
    expect("lines", (code, sum(line["topic"] == world.topics["dispatch"] for line in lines)), (0, len(records)))
    said = world.harness.command(
        "replay", "write", "--output", f"topic:{world.topics['requests']}", settings=world.settings("replay"), expected=78
    )
    if world.topics["requests"] not in said:
        raise Failure(f"writing to the topic of requests ends with: {said}")


def check_planted(world, of_requests):
    """One more push of a request, first a copy and then for another device."""
    sample = of_requests[0]
    world.cluster.produce(world.topics["dispatch"], [Input(sample.key, sample.value, sample.headers)])
    world.cluster.produce(world.topics["dispatch"], [Input(b"0" * 64, sample.value, sample.headers)])
    found = document(world, "diff", expected=EXIT_DIFFERENCE)
    expect("a copy and a stranger", (found["duplicates"], found["extra"], found["missing"]), (1, 1, 0))


def request(number, audience, **more):
    """A message to one audience."""
    body = {"request_id": f"r{number}", "requested_at": int(time.time() * 1000), "audience": audience, "message": {"title": "T"}}
    return Input(audience.encode(), compact(body | more))


@scenario("requests that were missed are sent once, with the orders, over kills; what has expired is not", background=True)
def missed(harness):
    world = harness.make_world("missed-requests", users=4)
    world.subscriptions = []
    world.create_topics()
    # Somebody else, so that the table has something to be as of.
    world.cluster.produce(world.topics["subscriptions"], [Input(b"place/other|" + b"0" * 64, None)] * 8)
    orders, requests, devices = 30, 60, 3
    daemon = world.started()
    brief = int(time.time() * 1000) + 15_000
    world.cluster.produce(world.topics["events"], [order(number) for number in range(orders)])
    world.cluster.produce(world.topics["requests"], [request(number, f"place/p{number % 3}") for number in range(requests)])
    world.cluster.produce(
        world.topics["requests"],
        [request(number, "place/p0", expires_at=brief) for number in range(100, 110)]
        + [request(number, "place/p1", collapse_key="score") for number in range(200, 205)],
    )
    world.wait_until_done(90)
    daemon.stop()
    subscribe(world, devices)
    wait_for("the brief ones have expired", lambda: time.time() * 1000 > brief, 30)
    now = ("--subscriptions", "now")
    total = (orders + requests + 1) * devices
    (plan,), _ = redrive(world, "--dry-run", *now)
    expect("the plan", (plan["plan"]["devices"], plan["left_out"]), (total, {"replaced": 4 * devices, "expired": 10 * devices}))
    expect("of requests", plan["plan"]["by_type"]["message"]["devices"], (requests + 1) * devices)
    (part,), _ = redrive(world, "--dry-run", "--topic", world.topics["requests"], *now)
    expect("the plan of requests", part["plan"]["devices"], (requests + 1) * devices)
    words = (CONFIRMATION, *now, "--confirm", str(total), "--id", "both")
    # The events come first: killed among them, and among the requests.
    for point, rate in ((60, 30), (orders * devices + 10, 20)):
        process = redrive_beside(world, *words, "--rate", str(rate))
        wait_for_sent(world, point, process)
        process.kill()
    (plan, outcome), _ = redrive(world, *words)
    expect("what was confirmed first", plan["resumed"]["devices"], total)
    expect("what was sent", (outcome["sent"], outcome["left_out"]), (total, {}))
    check_once(world, ["both"], total)
    (again,), _ = redrive(world, *words)
    expect("an id that is finished", again, outcome)
    found = document(world, "diff", *now, expected=EXIT_DIFFERENCE)
    # What was left out is missing by the subscriptions of now.
    names = ("redriven", "missing", "extra", "duplicates", "foreign")
    expect("differences", [found[name] for name in names], [total, 14 * devices, 0, 0, 0])
    expect("of one request", document(world, "diff", "--request", "r7", *now)["redriven"], devices)
    (said,) = explain(world, "--request", "r7")
    expect("what is explained", (said["reason"], said["redrives"]), ("no_subscriber", {"both": devices}))
    (other,), _ = redrive(world, "--dry-run", *now)
    expect(
        "afterwards",
        (other["plan"]["devices"], other["left_out"]),
        (0, {"replaced": 4 * devices, "expired": 10 * devices, "already_sent": total}),
    )


if __name__ == "__main__":
    sys.exit(main("replay-requests", __doc__, globals()))
