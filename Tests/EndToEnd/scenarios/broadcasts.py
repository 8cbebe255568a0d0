"""Every device of a channel gets a broadcast once, proved under faults: processes of `carillon broadcasts` are killed, lose their
tables and freeze, while devices join, leave and come back, and broadcasts are cancelled, corrected and expire."""

import json
import random
import signal
import sys
import time

from generator.broadcasts import GENERAL, subscribed
from harness.broadcasting import BroadcastWorld
from harness.daemon import wait_for_daemons
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, now_ms, pause, wait_for
from harness.world import check

SIZES = {"devices": 3_000, "seconds": 15, "kills": 5, "partitions": 8, "processes": 2}
SESSION_TIMEOUT, TRANSACTION_TIMEOUT = 6, 10
SHARED = {
    "session_timeout": f"{SESSION_TIMEOUT}s",
    "transaction_timeout": f"{TRANSACTION_TIMEOUT}s",
    "shutdown_timeout": f"{TRANSACTION_TIMEOUT}s",
}
# Changes of subscriptions a second, and broadcasts.
CHANGES, BROADCASTS = 40, 0.8
# So long a pass over all devices takes, at the least: then much happens while it is under way.
PASS_SECONDS = 3
# What must have happened in a run that proves something.
CASES = (
    "to who joined",
    "not sent after a rotation",
    "joined after more than max-late",
    "dead letters",
    "passes cancelled",
    "passes expired",
)


class Load:
    """One run: a world, what comes in, what goes wrong meanwhile, and what the verifier says afterwards."""

    def __init__(self, harness, name):
        self.sizes, self.began = harness.sizes, time.monotonic()
        self.chance = random.Random(f"{name} {harness.seed}")
        world = BroadcastWorld(harness, name, harness.cluster(), self.sizes.partitions, self.sizes.devices)
        self.world = world.create_topics()
        # The group begins at the oldest valid one.
        source = world.broadcasts
        world.publish(source.next(now_ms(), "over"), source.next(now_ms(), "bad"), source.to_channel(GENERAL, now_ms())[1])
        self.first_broadcast, self.frozen = 2, []

    def say(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    def start(self, rate, faults=""):
        """Starts the processes. `rate` is that of all of them together, in pushes a second; the last one is a debug build with
        these faults, where there is one."""
        each = max(1, int(rate / self.sizes.processes))
        for number in range(self.sizes.processes):
            daemon = self.world.daemon(f"p{number + 1}", workers=1, broadcasts_rate=each, **SHARED)
            debug_build = self.world.harness.debug_carillon
            if faults and debug_build and number + 1 == self.sizes.processes:
                daemon.binary = daemon.arguments[0] = debug_build
                daemon.variables = {"CARILLON_FAULT": faults}
            daemon.start()
        self.world.wait_for_commits()
        self.say("every partition has a commit")

    def change(self, count):
        """So many changes of the subscriptions."""
        self.world.subscribe([record for _ in range(count) for record in self.world.members.next()])

    def wait_for_passes(self):
        """A pass of each process is under way."""
        wait_for("passes are under way", lambda: len(self.world.under_way()) >= self.sizes.processes, 30)

    def finish(self, cases, seconds=90):
        """Waits until all passes have ended, and verifies everything."""
        self.world.wait_until_done(seconds)
        self.say("all passes have ended")
        # One that has come back a moment ago would be killed by the signal that ends it.
        daemons = self.world.daemons
        wait_for_daemons("all have joined", lambda: all(each.has_line("assigned") for each in daemons), daemons, 30)
        for each in daemons:
            self.say(f"{each.name} ended in {each.stop(45):.1f} s")
        report = self.world.verify(self.first_broadcast, self.frozen)
        for what in cases:
            if not report.counts.get(what):
                report.add("nothing to compare", f"no {what}")
        report.print()
        check(report)


class Faults(Load):
    """Kills while broadcasts are on their way."""

    def __init__(self, harness):
        super().__init__(harness, "broadcasts")
        # When something happens, in seconds: kills, of which the first is an end in order, and cancellations.
        seconds = self.sizes.seconds
        self.kills = sorted(self.chance.uniform(1, seconds) for _ in range(self.sizes.kills))
        self.cancellations, self.away = [], {}
        self.has_forgotten = self.has_restarted = False

    def run(self):
        source = self.world.broadcasts
        # With the first one more than who joins may get.
        self.world.publish(*(source.to_channel(GENERAL, now_ms())[1] for _ in range(self.world.max_late)))
        aborts = [f"abort@{point}:1/50" for point in ("after-produce", "before-commit", "after-send-offsets")]
        self.start(self.sizes.devices / PASS_SECONDS, ",".join(aborts))
        self.world.wait_until_done()
        # Some join while all of them are valid, which no seed may leave to chance.
        self.change(60)
        self.world.wait_until_done()
        self._end_midway()
        began, changed, published = time.monotonic(), 0, 0
        while (at := time.monotonic() - began) < self.sizes.seconds or self.away or self.kills:
            if at < self.sizes.seconds:
                count = int(at * CHANGES) - changed
                self.change(count)
                changed += count
                if published < at * BROADCASTS:
                    self._publish(published, at)
                    published += 1
            self._cancel(at)
            self._kill(at)
            self._look_after(at)
            pause()
        self._cancel(float("inf"))
        if self.sizes.kills > 1:
            expect("a process has lost its table", self.has_forgotten, True)
        self.finish(CASES)

    def _end_midway(self):
        """Passes end while they are under way: for certain, since nothing else happens."""
        source = self.world.broadcasts
        identity, record = source.to_channel(GENERAL, now_ms())
        self.world.publish(record)
        self.wait_for_passes()
        self.world.publish(source.cancel(identity))
        self.world.publish(source.next(now_ms(), "bad"))
        # Less than the passes take, and at different moments of them.
        for share in (3, 1.5):
            self.world.publish(source.to_channel(GENERAL, now_ms(), int(PASS_SECONDS * 1_000 / share))[1])
        self.world.wait_until_done()

    def _publish(self, number, at):
        """Every fourth is one to everybody that is cancelled or expires, about when it is sent."""
        source = self.world.broadcasts
        if number % 8 == 3:
            identity, record = source.to_channel(GENERAL, now_ms())
            self.cancellations.append((at + self.chance.uniform(0.2, PASS_SECONDS), identity))
        elif number % 8 == 7:
            _, record = source.to_channel(GENERAL, now_ms(), int(self.chance.uniform(0.3, PASS_SECONDS) * 1_000))
        else:
            record = source.next(now_ms())
        self.world.publish(record)

    def _cancel(self, at):
        due = [each for each in self.cancellations if each[0] <= at]
        for each in due:
            self.cancellations.remove(each)
            # It may have been cancelled or replaced by chance.
            if each[1] in self.world.broadcasts.live:
                self.world.publish(self.world.broadcasts.cancel(each[1]))

    def _kill(self, at):
        running = [each for each in self.world.daemons if each not in self.away]
        if not self.kills or self.kills[0] > at or not running:
            return
        del self.kills[0]
        victim = self.chance.choice(running)
        # At once, or after its session: then the others have its partitions meanwhile, if there are any.
        delay = self.chance.choice((0, self.chance.uniform(0, 2), SESSION_TIMEOUT + 2)) if len(running) > 1 else 0
        if not self.has_restarted:
            self.has_restarted = True
            victim.stop(45)
            self.say(f"{victim.name} is told to end, and starts again")
        else:
            self._kill_hard(victim, delay)
        self.away[victim] = at + delay

    def _kill_hard(self, victim, delay):
        victim.kill()
        what = f"kill -9 {victim.name}, back in {delay:.1f} s"
        if (not self.has_forgotten or self.chance.random() < 0.2) and victim.forget():
            self.has_forgotten = True
            what += ", without its table"
        self.say(what)

    def _look_after(self, at):
        for each in self.world.daemons:
            if each not in self.away:
                each.expect_running()
            elif self.away[each] <= at:
                del self.away[each]
                each.start()


@scenario("each device gets a broadcast once for each time that it joins, while processes are killed and lose their tables")
def faults(harness):
    load = Faults(harness)
    try:
        load.run()
    finally:
        load.world.kill_daemons()


@scenario("a process that freezes for longer than its session, while a broadcast is sent, sends nothing twice", background=True)
def frozen(harness):
    load = Load(harness, "frozen")
    world = load.world
    try:
        # A pass takes longer than it takes to freeze; what comes later is taken over.
        load.start(load.sizes.devices / (SESSION_TIMEOUT + 2))
        world.publish(world.broadcasts.to_channel(GENERAL, now_ms())[1])
        load.wait_for_passes()
        victim, began = world.daemons[0], now_ms()
        victim.signal(signal.SIGSTOP)
        load.say(f"{victim.name} is stopped for longer than its session")
        until = time.monotonic() + SESSION_TIMEOUT + 3
        while time.monotonic() < until:
            load.change(5)
            pause(0.5)
        if not victim.is_stopped:
            raise Failure(f"{victim.name} did not stay stopped")
        victim.signal(signal.SIGCONT)
        load.frozen.append((victim.name, began, now_ms()))
        load.say(f"{victim.name} continues")
        load.change(50)
        load.finish(("to who joined",))
    finally:
        world.kill_daemons()


@scenario("while the clock is two hours ahead of the broker's no broadcast is sent, and none is passed as over", background=True)
def ahead(harness):
    # Only a debug build can be given a wrong time.
    debug_build = harness.require_debug_build()
    load = Load(harness, "ahead")
    world = load.world
    clock = world.folder / "clock"
    clock.write_text("7200")
    try:
        daemon = world.daemon("p1", workers=1, **SHARED)
        daemon.binary = daemon.arguments[0] = debug_build
        daemon.variables = {"CARILLON_FAULT_CLOCK": str(clock)}
        daemon.start()
        wait_for("it says so", lambda: daemon.has_line("the clock is 7", "ahead of the broker's: not ready"), 60)
        expect("commits while the clock is wrong", world.commits(), {})
        clock.write_text("0")
        world.wait_for_commits()
        daemon.expect_line("the wall clock was set by -7", "it is followed")
        world.publish(world.broadcasts.to_channel(GENERAL, now_ms())[1])
        load.change(50)
        load.finish(("to who joined",))
    finally:
        world.kill_daemons()


@scenario("who joins and leaves while nothing is read gets nothing, however many transactions lie between", background=True)
def left(harness):
    load = Load(harness, "left")
    world = load.world
    try:
        process = world.daemon("p1", workers=1, **SHARED | {"commit.max-events": 20})
        process.start()
        world.wait_for_commits()
        world.publish(world.broadcasts.to_channel(GENERAL, now_ms())[1])
        world.wait_until_done()
        process.stop(45)
        joined = [subscribed(GENERAL, f"short-{number}", now_ms()) for number in range(4_000)]
        # More than the process reads at a time, so that those who leave are in later transactions.
        world.subscribe(joined)
        gone = joined[400:]
        world.subscribe([each._replace(value=None) for each in gone])
        # Longer than a process may need to know it.
        pause(1.5)
        process.start()
        world.wait_until_done()
        hashes = {each.key.rpartition(b"|")[2] for each in gone}
        found = sum(each.key in hashes for each in world.cluster.read(world.dispatch))
        if found:
            raise Failure(f"{found} pushes to {len(gone)} devices that had left before it started")
        load.finish(("to who joined",))
    finally:
        world.kill_daemons()


@scenario("a fleet whose tokens are rotated gets no broadcast again, and the next one once", background=True)
def rotation(harness):
    load = Load(harness, "rotation")
    world, count = load.world, 4_000
    try:
        world.daemon("p1", workers=2, **SHARED).start()
        world.wait_for_commits()
        old = [subscribed(GENERAL, f"old-{number}", now_ms()) for number in range(count)]
        world.subscribe(old)
        world.wait_until_done()
        identity, record = world.broadcasts.to_channel(GENERAL, now_ms())
        world.publish(record)
        world.wait_until_done()
        before = world.cluster.ends(world.dispatch)
        since = (("since", b"%d" % now_ms()),)
        # Later than what was published, also by a clock in milliseconds.
        pause(0.1)
        new = [subscribed(GENERAL, f"new-{number}", now_ms())._replace(headers=since) for number in range(count)]
        world.subscribe(new)
        world.subscribe([each._replace(value=None) for each in old])
        world.wait_until_done()
        expect("pushes after the rotation", world.cluster.ends(world.dispatch), before)
        token = world.folder / "token"
        token.write_text("new-7\n")
        said = harness.command(
            "explain", "--broadcast", identity, "--device-token-file", str(token), "--json", settings=world.settings("operator")
        )
        expect("what explain says", [each["outcome"] for each in json.loads(said)["fates"]], ["rotated"])
        world.publish(world.broadcasts.to_channel(GENERAL, now_ms())[1])
        load.finish(("not sent after a rotation",))
        hashes = {each.key.rpartition(b"|")[2] for each in new}
        got = [each for each in world.cluster.read(world.dispatch) if each.key in hashes]
        expect("pushes to the new tokens", len(got), count)
    finally:
        world.kill_daemons()


@scenario("broadcasts.rate limits a process, however many workers it has", background=True)
def rate(harness):
    load = Load(harness, "rate")
    world, rate, workers = load.world, load.sizes.devices // 6, 4
    try:
        world.daemon("p1", workers=workers, broadcasts_rate=rate, **SHARED).start()
        world.wait_for_commits()
        world.wait_until_done()
        # A broker that is late with the first or with the last of them changes what is measured. A wrong limit shows each time.
        for is_last in (False, False, True):
            before = world.cluster.ends(world.dispatch)
            world.publish(world.broadcasts.to_channel(GENERAL, now_ms())[1])
            world.wait_until_done()
            pushes = sorted(each.timestamp for each in world.cluster.read(world.dispatch) if each.offset >= before[each.partition])
            # Each worker may have saved up a tenth of a second.
            least = (len(pushes) - workers * rate / 10) / rate
            seconds = (pushes[-1] - pushes[0]) / 1_000
            load.say(f"{len(pushes)} pushes in {seconds:.2f} s, at {rate} a second")
            if least * 0.95 < seconds < 2 * least + 1:
                break
            if is_last:
                raise Failure(f"{len(pushes)} pushes took {seconds:.2f} s, and {least:.2f} s are the least at {rate} a second")
    finally:
        world.kill_daemons()


if __name__ == "__main__":
    sys.exit(main("broadcasts", __doc__, globals(), sizes=SIZES))
