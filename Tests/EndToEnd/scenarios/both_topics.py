"""Orders and requests beside each other, on a broker: each record of both topics once, whatever dies."""

import json
import os
import pty
import random
import subprocess
import sys
import time

from generator.inputs import Input, compact, subscription_key
from harness.daemon import EXIT_CONFIGURATION, EXIT_DONE, EXIT_USAGE, flags
from harness.scenario import main, scenario
from harness.waiting import PATIENCE, Failure, expect, wait_for
from harness.world import check


def make_world(harness, name, partitions=3):
    return harness.make_world(name, partitions=partitions, users=40).create_topics()


def produce(world, events, requests):
    world.produce(events)
    world.produce_requests(requests)


def check_offsets(world):
    """`carillon offsets show` has the partitions of both topics; only those of events have a watermark."""
    rows = json.loads(world.harness.command("offsets", "show", "--json", settings=world.settings("a")))
    for name in ("events", "requests"):
        shown = {row["partition"]: row["committed"] for row in rows if row["topic"] == world.topics[name]}
        expect(f"offsets of {name}", shown, world.cluster.committed(world.name, world.topics[name]))
    expect("topics with a watermark", {row["topic"] for row in rows if row.get("watermark")}, {world.topics["events"]})


@scenario("a deployment that turns requests on continues where it was, and sends both, each once, over kills")
def turned_on(harness):
    world = make_world(harness, "turned-on")
    world.produce(1_000)
    world.started(topic_requests="").stop()
    # Requests begin an hour ago without --from.
    daemon = world.daemon("a", start_at=None).start()
    chance = random.Random(harness.seed)
    for _ in range(4):
        produce(world, 700, 700)
        time_out = time.monotonic() + chance.uniform(0.2, 1.5)
        wait_for("a moment has passed", lambda: time.monotonic() > time_out, 5)
        daemon.kill()
        daemon.start()
    produce(world, 100, 100)
    world.wait_until_done(90)
    daemon.stop()
    check_offsets(world)
    report = world.verify()
    check(report)
    for what in ("expected pushes of requests", "dead letters of requests", "requests expired", "requests duplicate"):
        if not report.counts.get(what):
            raise Failure(f"no {what}")


@scenario("requests that retention removes before they are read are told, and everything else continues")
def overtaken(harness):
    world = make_world(harness, "overtaken", partitions=1)
    daemon = world.daemon("a").start()
    produce(world, 200, 200)
    world.wait_until_done(90)
    daemon.stop()
    produce(world, 200, 200)
    world.cluster.delete_records(world.topics["requests"], 0, 300)
    daemon.start()
    wait_for("the loss is told", lambda: daemon.has_line("offset out of range", "100 requests are lost"), 30)
    world.wait_until_done(90)
    daemon.expect_running()
    daemon.stop()


@scenario("while the clock is two hours ahead of the broker's, orders are sent and requests wait; none of them expires early")
def ahead(harness):
    # Only a debug build can be given a wrong time.
    debug_build = harness.require_debug_build()
    world = make_world(harness, "ahead")
    clock = world.folder / "clock"
    clock.write_text("7200")
    daemon = world.daemon("a", binary=debug_build)
    daemon.variables = {"CARILLON_FAULT_CLOCK": str(clock)}
    daemon.start()
    produce(world, 200, 200)
    wait_for("it says so", lambda: daemon.has_line("the clock is 7", "ahead of the broker's: not ready"), 60)

    def committed(name):
        return sum(world.cluster.committed(world.name, world.topics[name]).values())

    wait_for("orders are sent", lambda: committed("events") == 200, 60)
    expect("requests that were read", committed("requests"), 0)
    clock.write_text("0")
    world.wait_until_done(90)
    daemon.expect_line("the wall clock was set by -7", "it is followed")
    daemon.stop()
    report = world.verify()
    check(report)
    if not report.counts.get("expected pushes of requests"):
        raise Failure("no push of a request")


CROWD = 150
AUDIENCES = tuple(f"user/{number}" for number in range(6))
APP = ("--app-type", "NewBill", "--title", "New bill", "--body", "23.40 €")


class Notify:
    """`carillon notify` for the requests of a world."""

    def __init__(self, world):
        self.harness, self.settings = world.harness, world.settings("a")
        self.topic, self.cluster = world.topics["requests"], world.cluster

    def run(self, *words, line=None):
        """(exit code, output, errors), with a terminal on which `line` was typed, or with none."""
        if line is None:
            return self.harness.run("notify", *words, settings=self.settings, input=b"")
        keyboard, terminal = pty.openpty()
        os.write(keyboard, line + b"\n")
        command = [self.harness.carillon, "notify", *words, *flags(self.settings)]
        done = subprocess.run(command, stdin=terminal, capture_output=True, timeout=60 * PATIENCE)
        os.close(terminal)
        os.close(keyboard)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def refused(self, code, words, says, line=None):
        """It ends with this code and says this, and writes nothing."""
        before = self.cluster.ends(self.topic)
        found, output, errors = self.run(*words, line=line)
        if found != code or says not in errors or output:
            raise Failure(f"notify {words} ended with {found}, expected {code} and {says!r}: {output}{errors}")
        if self.cluster.ends(self.topic) != before:
            raise Failure(f"notify {words} was refused, and has written all the same")

    def sent(self, *words, line=None):
        """The outcome that it tells, once the record stands where that says."""
        code, output, errors = self.run(*words, "--json", line=line)
        if code != EXIT_DONE:
            raise Failure(f"notify {words} ended with {code}: {errors}")
        outcome = json.loads(output)
        record = next(
            each
            for each in self.cluster.read(self.topic)
            if (each.partition, each.offset) == (outcome["partition"], outcome["offset"])
        )
        if json.loads(record.value)["request_id"] != outcome["request_id"]:
            raise Failure(f"another record stands where the outcome says: {outcome}, {record}")
        return outcome


@scenario("`carillon notify`: the devices that it counts are those that get it; what is refused or not confirmed is not sent")
def notified(harness):
    world = make_world(harness, "notify")
    notify = Notify(world)
    crowd = [
        {"audience": "user/crowd", "token": f"crowd-{at}", "platform": "fcm", "app": "a", "environment": "production"}
        for at in range(CROWD)
    ]
    lines = [Input(subscription_key(each["audience"], each["token"]), compact(each)) for each in crowd]
    world.cluster.produce(world.topics["subscriptions"], lines)
    message = world.folder / "message.json"
    message.write_text(json.dumps({"title": "Hello", "extras": {"order_type": "food", "order_id": "4711"}}, indent=2))
    daemon = world.daemon("a").start()

    several = [word for audience in AUDIENCES for word in ("--audience", audience)]
    # All of them each time: one user may have no device.
    told = [notify.sent(*several, *APP), notify.sent(*several, "--message", str(message), "--expires-in", "2h")]
    told += [notify.sent("--audience", "user/crowd", *APP, "--request-id", "once", line=line) for line in (b"150", b" 150 ")]
    told.append(notify.sent("--audience", "user/crowd", *APP, "--yes"))
    if told[2]["message_id"] != told[3]["message_id"]:
        raise Failure(f"one request id has two message ids: {told[2]}, {told[3]}")

    notify.refused(EXIT_USAGE, ("--audience", "user/crowd", *APP), "give --yes")
    notify.refused(EXIT_CONFIGURATION, ("--audience", "user/crowd", *APP), "which is 150", line=b"151")
    notify.refused(EXIT_USAGE, ("--audience", "team/7", *APP), "place/<id>")
    notify.refused(EXIT_USAGE, (*several, *APP[:-2]), "app.body is missing")
    notify.refused(EXIT_USAGE, (*several, *APP, "--expires-in", "0s"), "has expired already")
    long = ("--app-type", "Generic", "--title", "t", "--body", "x" * 4_100)
    notify.refused(EXIT_USAGE, (*several, *long), "payload_too_large")

    world.wait_until_done(90)
    daemon.stop()
    check(world.verify())
    ids = [dict(each.headers)["message-id"].decode() for each in world.cluster.stream(world.topics["dispatch"])]
    for outcome in told:
        # Also that of the one that was asked for twice.
        pushes = ids.count(outcome["message_id"])
        if pushes != outcome.get("devices", CROWD) or not pushes:
            raise Failure(f"{pushes} pushes of a request: {outcome}")


if __name__ == "__main__":
    sys.exit(main("both-topics", __doc__, globals()))
