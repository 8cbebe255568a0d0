"""A rolling upgrade from another version of Carillon, named by CARILLON_OLD, to this one, under load and with timers due:
nothing lost and nothing twice; and back in the middle of a tick: nothing lost, and what is sent again has the same message id."""

import collections
import json
import os
import sys

from harness import scenario as scenarios
from harness import timers as slots
from harness.cluster import Failure, pause, wait_for
from harness.daemon import wait_for_daemons
from harness.scenario import check, scenario

OLD = os.environ.get("CARILLON_OLD")
PARTITIONS, DEVICES, ORDERS, SPREAD = 4, 8, 2_400, 40
# Small transactions, so that this version splits nearly every instant.
SETTINGS = {"schedule_spread": f"{SPREAD}s", "session_timeout": "6s", "transaction_timeout": "10s", "commit.max-records": DEVICES}


class Rollout:
    """Two instances, each of the old version at first, and orders whose timers go from the next full minute on."""

    def __init__(self, name):
        self.world = world = slots.make_schedule_world(name, partitions=PARTITIONS, message_timestamp_type="LogAppendTime")
        world.rules.spread_seconds = SPREAD
        world.cluster.produce(
            world.topics["subscriptions"],
            [slots.subscription(place, number) for place in world.places for number in range(1, DEVICES)],
        )
        self.processes = {instance: self.start(instance, OLD) for instance in "ab"}
        wait_for_daemons("both are at work", lambda: len(world.committed) == PARTITIONS, list(self.processes.values()))
        self.at = slots.next_minute(15)
        events, self.due = slots.orders_due(world, self.at, ORDERS)
        slots.produce(world, events)
        self.sent = 0

    def start(self, instance, binary):
        more = {} if binary is None else {"binary": binary}
        return self.world.daemon(f"{instance}{len(self.world.daemons)}", self.world.settings(instance, **SETTINGS), **more).start()

    def replace(self, instance, binary, kill=False):
        old = self.processes[instance]
        old.kill() if kill else old.stop(20)
        self.processes[instance] = self.start(instance, binary)

    def until(self, seconds):
        """Goes on with events until so many seconds after the slot's start."""
        world = self.world
        while slots.now_ms() < self.at + seconds * 1000:
            slots.produce(
                world,
                [slots.order_event(world, f"{world.name}-load-{self.sent + index}", world.places[index]) for index in range(10)],
            )
            self.sent += 10
            for each in self.processes.values():
                each.expect_running()
            pause(0.2)

    def finish(self):
        self.until(SPREAD + 5)
        self.world.wait_until_done()
        self.timers_until = slots.now_ms()
        wait_for("every timer has gone", lambda: len(slots.timers_by_device(self.world)[0]) >= len(self.due), 60)
        for each in self.processes.values():
            each.stop(20)


def require_old():
    if not OLD:
        raise Failure("CARILLON_OLD names no binary of another version")


@scenario("one instance after the other: nothing lost, nothing twice, of events and of timers", background=True)
def upgraded():
    require_old()
    rollout = Rollout("upgraded")
    rollout.until(8)
    rollout.replace("a", None)
    rollout.until(20)
    rollout.replace("b", None)
    rollout.finish()
    check(rollout.world.verify(timers_until=rollout.timers_until))
    entries = [json.loads(record.value) for record in rollout.world.cluster.read(rollout.world.topics["journal"])]
    versions = collections.Counter(entry.get("v", 1) for entry in entries)
    splits = sum("after_p" in mark for entry in entries for mark in entry["watermarks"])
    print(
        f"         journal entries by version {dict(versions)}, {splits} split instants, {rollout.sent:,} events beside "
        f"{len(rollout.due):,} timers",
        flush=True,
    )
    if versions[1] < 10 or versions[2] < 10 or not splits:
        raise Failure("one of the versions has hardly worked, or no instant was split")


@scenario(
    "back to the old version in the middle of a tick: nothing lost, and what goes again has the same message id", background=True
)
def returned():
    require_old()
    rollout = Rollout("returned")
    for instance in "ab":
        rollout.replace(instance, None, kill=True)
    for seconds, binary in ((8, OLD), (16, None), (24, OLD)):
        rollout.until(seconds)
        for instance in "ab":
            rollout.replace(instance, binary, kill=True)
    rollout.finish()
    devices, twice = slots.timers_by_device(rollout.world)
    print(f"         {len(devices):,} timers x {DEVICES} devices, {twice} pushes sent again", flush=True)
    lost = [message for message, found in devices.items() if len(found) != DEVICES]
    if len(devices) != len(rollout.due) or lost:
        raise Failure(f"{len(devices)} timers for {len(rollout.due)}, {len(lost)} without all their devices")


if __name__ == "__main__":
    sys.exit(scenarios.main("upgrade.py", __doc__))
