"""Runs of the sender on topics of its own: the backlogs, a group for each run, and what its process used."""

import itertools
import json
import re
import subprocess
import sys
import time
from typing import NamedTuple

from delivery_peers import TEXT
from figures import crossing
from generator.dispatch import Pushes, Target
from harness.delivering import DeliveryWorld
from harness.harness import Harness
from harness.stand_in import StandIn
from harness.waiting import Failure, now_ms, pause, wait_for
from programs import cpu_seconds, resident_mb

BY_BROKER = {"message.timestamp.type": "LogAppendTime"}
ACCEPTED = re.compile(r'^carillon_delivery_requests_total\{[^}]*status="200"[^}]*\} ([0-9.e+]+)$', re.MULTILINE)
# Left out of a measurement of the latency, at its beginning.
WARM_UP = 2
DEADLINE = 300


class Figures(NamedTuple):
    """Requests a second, µs of CPU a request, and MB of resident memory: the median while it was measured, and the most."""

    rate: float
    cpu: float
    steady: float
    peak: float


def memory(process):
    """(now, the most so far) of a process's resident memory, in MB."""
    return [resident_mb(process.pid, name) for name in ("VmRSS", "VmHWM")]


class Bench:
    def __init__(self, options):
        self.options = options
        self.harness = Harness(options.seed, {"CARILLON": options.carillon, "KAFKA_BOOTSTRAP_SERVERS": options.bootstrap})
        self.cluster, self.worlds, self.runs, self.topics = self.harness.cluster(), {}, 0, []
        self.pushes = Pushes(options.seed, 0, texts=[TEXT])
        world = DeliveryWorld(self.harness, "bench-providers", self.cluster, options.partitions)
        self.stand_in = StandIn(options.stand_in, world.folder / "providers", options.seed, logs=False)

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def note(self, rows, name, figures):
        rows.setdefault(name, []).append(figures)
        self.say(f"  {name:18}{figures.rate:9,.0f} requests/s {figures.cpu:7.1f} µs CPU a request {figures.peak:5.0f} MB")

    def world(self, name):
        world = DeliveryWorld(self.harness, f"bench-{name}", self.cluster, self.options.partitions)
        world.create_topics()
        self.topics += [*world.topics.values(), *world.retries]
        return world

    def records(self, platform, count):
        """Of as many devices; they expire in hours."""
        for number in range(count):
            token = f"{self.pushes.chance.getrandbits(512):0128x}"
            if platform == "apns":
                token, environment = token[:64], "production"
            else:
                token, environment = f"device-{number:08}:APA91b{token}", ""
            now = now_ms()
            yield self.pushes.record(Target.of(token, platform, environment), now, now + 10_800_000)

    def load(self, platform, count, name=None):
        """A topic with so many records."""
        began, world = time.monotonic(), self.world(name or platform)
        records = self.records(platform, count)
        # Fewer at a time than a producer's queue holds.
        while some := list(itertools.islice(records, 100_000)):
            self.cluster.produce(world.dispatch, some)
            size = len(some[0].value)
        self.worlds[name or platform] = world
        self.say(f"{count:,} records of {platform}, {size} bytes each, loaded in {time.monotonic() - began:.1f} s")

    def start(self, build, world, platform):
        """A sender of a new group, on the topics of this world but for that of the outcomes: (sender, group, outcomes)."""
        self.runs += 1
        group = f"{world.name}-{self.runs}"
        outcomes = f"{group}.deliveries"
        self.cluster.create_topics({outcomes: (self.options.partitions, BY_BROKER)})
        settings = world.settings(f"b{self.runs}", group_id=group, topic_deliveries=outcomes) | self.stand_in.settings()
        settings |= dict(each.split("=", 1) for each in self.options.set)
        # An older build to compare with calls it a lane.
        words = subprocess.run([build, "deliver", "--help"], capture_output=True, text=True).stdout
        sender = world.sender(f"b{self.runs}", settings, "--provider" if "--provider" in words else "--lane", platform)
        sender.arguments[0] = build
        return sender.start(), f"{group}-delivery-{platform}", outcomes

    def run(self, build, name):
        """One run through a whole backlog."""
        world, platform = self.worlds[name], name.partition("-")[0]
        count = sum(self.cluster.ends(world.dispatch).values())
        sender, group, outcomes = self.start(build, world, platform)
        samples, steady = [], []
        deadline = time.monotonic() + DEADLINE
        while not samples or samples[-1][1] < count:
            sender.expect_running()
            if time.monotonic() > deadline:
                raise Failure(f"{samples[-1][1]:,} of {count:,} after {DEADLINE} s:\n{sender.last_lines()}")
            cpu = cpu_seconds(sender.process.pid)
            samples.append((time.monotonic(), sum(self.cluster.committed(group, world.dispatch).values()), cpu))
            now, peak = memory(sender.process)
            if samples[-1][1] > count // 10:
                steady.append(now)
            pause(0.05)
        accepted = sum(float(each) for each in ACCEPTED.findall(sender.page("/metrics") or ""))
        sender.stop(30)
        # The access token is one more.
        if accepted < count:
            raise Failure(f"{accepted:,.0f} of {count:,} were accepted")
        for future in self.cluster.admin.delete_topics([outcomes]).values():
            future.result(30)
        first, last = count // 10, count * 95 // 100
        (t0, c0), (t1, c1) = crossing(samples, first), crossing(samples, last)
        steady.sort()
        return Figures((last - first) / (t1 - t0), (c1 - c0) / (last - first) * 1e6, steady[len(steady) // 2], peak)

    def latency(self, build, rate, seconds):
        """Milliseconds from a dispatch record's append to its outcome's, at so many records a second, in percentiles."""
        world = self.world("latency")
        records = list(self.records("fcm", rate * (seconds + WARM_UP)))
        sender, group, outcomes = self.start(build, world, "fcm")
        wait_for("the sender is ready", lambda: sender.is_ready, 30)
        producer, made, began = self.cluster.producer(**{"linger.ms": 1}), 0, time.monotonic()
        while made < len(records):
            due = min(int(rate * (time.monotonic() - began)), len(records))
            for each in records[made:due]:
                producer.produce(world.dispatch, key=each.key, value=each.value, headers=list(each.headers))
            made = due
            producer.poll(0.002)
        took = time.monotonic() - began
        producer.flush(30)
        committed = lambda: sum(self.cluster.committed(group, world.dispatch).values())  # noqa: E731
        wait_for("all have an outcome", lambda: committed() >= len(records), 60)
        sender.stop(30)
        appended = {(each.partition, each.offset): each.timestamp for each in self.cluster.stream(world.dispatch)}
        first = min(appended.values()) + WARM_UP * 1_000
        times = []
        for each in self.cluster.stream(outcomes):
            value = json.loads(each.value)
            since = appended.pop((value["partition"], value["offset"]))
            if since >= first:
                times.append(each.timestamp - since)
        if appended:
            raise Failure(f"{len(appended):,} records have no outcome")
        times.sort()
        found = {"rate": rate, "produced": len(records) / took, "p50": times[len(times) // 2]}
        return found | {"p99": times[len(times) * 99 // 100], "most": times[-1]}

    def close(self):
        self.stand_in.end()
        self.harness.close()
        for future in self.cluster.admin.delete_topics(self.topics).values() if self.topics else ():
            future.result(30)
