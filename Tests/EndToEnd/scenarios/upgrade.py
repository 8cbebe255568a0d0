"""A rolling upgrade from another version of Carillon, named by CARILLON_OLD, to this one, under load and with timers due:
nothing lost and nothing twice; and back in the middle of a tick: nothing lost, and what is sent again has the same message id."""

import collections
import json
import sys

from harness import timers
from harness.daemon import wait_for_daemons
from harness.scenario import main, scenario
from harness.waiting import Failure, pause, wait_for
from harness.world import check

PARTITIONS, DEVICES, ORDERS, SPREAD = 4, 8, 2_400, 40
# Small transactions, so that this version splits nearly every instant.
SETTINGS = {"schedule_spread": f"{SPREAD}s", "session_timeout": "6s", "transaction_timeout": "10s", "commit.max-records": DEVICES}


class Rollout:
    """Two instances, both of the old version at first, and orders whose timers fire from the next full minute on."""

    def __init__(self, harness, name):
        if not harness.old_carillon:
            raise Failure("CARILLON_OLD names no binary of another version")
        self.old, self.new = harness.old_carillon, harness.carillon
        self.world = world = timers.make_schedule_world(
            harness, name, partitions=PARTITIONS, message_timestamp_type="LogAppendTime"
        )
        world.rules.spread_seconds = SPREAD
        world.cluster.produce(
            world.topics["subscriptions"],
            [timers.device(place, number) for place in world.places for number in range(1, DEVICES)],
        )
        self.processes = {instance: self.start(instance, self.old) for instance in "ab"}
        wait_for_daemons("both are at work", lambda: len(world.committed) == PARTITIONS, list(self.processes.values()))
        self.at = timers.next_minute(15)
        events, self.due = timers.orders_due(world, self.at, ORDERS)
        timers.produce(world, events)
        self.sent = 0

    def start(self, instance, binary):
        name = f"{instance}{len(self.world.daemons)}"
        return self.world.daemon(name, self.world.settings(instance, **SETTINGS), binary=binary).start()

    def replace(self, instance, binary, kill=False):
        old = self.processes[instance]
        old.kill() if kill else old.stop(20)
        self.processes[instance] = self.start(instance, binary)

    def until(self, seconds):
        """Produces events until so many seconds after the start of the slot."""
        world = self.world
        while timers.now_ms() < self.at + seconds * 1000:
            timers.produce(
                world,
                [timers.order_event(world, f"{world.name}-load-{self.sent + index}", world.places[index]) for index in range(10)],
            )
            self.sent += 10
            for each in self.processes.values():
                each.expect_running()
            pause(0.2)

    def finish(self):
        self.until(SPREAD + 5)
        self.world.wait_until_done()
        self.timers_until = timers.now_ms()
        wait_for("every timer has fired", lambda: len(timers.timers_by_device(self.world)[0]) >= len(self.due), 60)
        for each in self.processes.values():
            each.stop(20)


@scenario("one instance after the other: nothing lost, nothing twice, of events and of timers", background=True)
def upgraded(harness):
    rollout = Rollout(harness, "upgraded")
    rollout.until(8)
    rollout.replace("a", rollout.new)
    rollout.until(20)
    rollout.replace("b", rollout.new)
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
    "back to the old version in the middle of a tick: nothing lost, and what is sent again has the same message id", background=True
)
def returned(harness):
    rollout = Rollout(harness, "returned")
    for instance in "ab":
        rollout.replace(instance, rollout.new, kill=True)
    for seconds, binary in ((8, rollout.old), (16, rollout.new), (24, rollout.old)):
        rollout.until(seconds)
        for instance in "ab":
            rollout.replace(instance, binary, kill=True)
    rollout.finish()
    devices, twice = timers.timers_by_device(rollout.world)
    print(f"         {len(devices):,} timers x {DEVICES} devices, {twice} pushes sent again", flush=True)
    lost = [message for message, found in devices.items() if len(found) != DEVICES]
    if len(devices) != len(rollout.due) or lost:
        raise Failure(f"{len(devices)} timers for {len(rollout.due)}, {len(lost)} without all their devices")


if __name__ == "__main__":
    sys.exit(main("upgrade", __doc__, globals()))
