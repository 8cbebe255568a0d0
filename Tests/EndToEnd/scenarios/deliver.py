"""Every push has one outcome, proved under faults: `carillon deliver` sends to both providers' stand-ins, which refuse, stall and
cut off, while processes are killed, frozen and restarted, brokers are killed, and devices die."""

import collections
import contextlib
import math
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Optional

from generator.dispatch import Pushes
from harness.cluster import Cluster
from harness.daemon import EXIT_DRAINED, wait_for_daemons
from harness.delivering import Backlog, DeliveryWorld
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import Failure, now_ms, wait_for
from harness.world import check
from model.deliveries import verify_deliveries
from model.pushes import read_requests

SESSION_TIMEOUT = 6
# How many seconds of pushes may wait before no more are made.
BACKLOG_SECONDS = 2
TRANSACTION_TIMEOUT = 10
# How often a broker looks for transactions that timed out, in seconds.
ABORT_INTERVAL = 2
# By how far the pushes are made. Later ones have no faults that would have to be waited for.
FAULTS = (
    (0.0, "quota=0.02,unavailable=0.02,internal=0.01,html=0.005,slow=0.003,hang=0.0005,reset=0.0005,goaway=1500,mismatch=0.01"),
    (0.2, "quota=0.02,unavailable=0.02,internal=0.01,hang=0.0005,reset=0.0005,goaway=300,streams=7,mismatch=0.01,dead=0.02"),
    (0.4, "quota=0.02,unavailable=0.01,slow=0.003,reset=0.001,cut=900,goaway=700,mismatch=0.01,dead=0.02,invalid=0.01"),
    (0.7, "quota=0.02,reset=0.001,goaway=700,mismatch=0.01,dead=0.05,invalid=0.01,clock=-60000"),
    (0.95, "mismatch=0.01,dead=0.05,invalid=0.01"),
)
SIZES = {"pushes": 12_000, "rate": 1_500, "kills": 3, "freezes": 1, "restarts": 1, "brokers": 0, "nodes": 1}


class Absence(NamedTuple):
    """Why something is away, and how it comes back. `began` is None where nothing may be lost by it."""

    began: Optional[int]
    is_over: Callable
    bring_back: Callable


def after(seconds):
    """A condition that holds after so many seconds."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


class Delivery:
    """One run: what is to be sent, what goes wrong meanwhile, and what the verifier says afterwards."""

    def __init__(self, harness, brokers):
        self.harness, self.sizes, self.brokers = harness, harness.sizes, brokers
        self.chance = random.Random(f"delivery {harness.seed}")
        cluster = Cluster(brokers.start()) if brokers else harness.cluster()
        self.world = DeliveryWorld(harness, "deliver", cluster, partitions=6)
        self.world.create_topics()
        self.backlog = Backlog(self.world)
        self.stand_in = StandIn(harness.stand_in, self.world.folder / "providers", harness.seed)
        # What each process has said last, by its process id.
        self.twice, self.asked, self.unsaid = {}, {}, []
        self.disturbances, self.cut_offs, self.counts = [], [], collections.Counter()
        # Processes, or the brokers.
        self.away = {}
        self.ends, self.began = {}, time.monotonic()

    def say(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    def start(self):
        for name in ("p1", "p2"):
            settings = self.world.settings(name) | self.stand_in.settings()
            settings |= {"session.timeout": f"{SESSION_TIMEOUT}s", "transaction.timeout": f"{TRANSACTION_TIMEOUT}s"}
            self.world.hurried_sender(name, settings).start()
        wait_for_daemons("both are ready", lambda: all(each.is_ready for each in self.world.daemons), self.world.daemons)
        self.say("both processes are ready")
        self.backlog.start()

    def load(self):
        """Makes the pushes at the rate, and what goes wrong meanwhile."""
        pushes = Pushes(self.harness.seed, max(50, self.sizes.pushes // 10))
        producer, topic = self.world.cluster.producer(), self.world.dispatch
        plan = self._plan()
        last, allowed = time.monotonic(), 0.0
        while pushes.made < self.sizes.pushes or plan or self.away:
            now = time.monotonic()
            allowed, last = min(allowed + self.sizes.rate * (now - last), self.sizes.rate), now
            if self.brokers in self.away or self.backlog.unsent > BACKLOG_SECONDS * self.sizes.rate:
                # What fails is to meet a sender at work, and not one that is behind by everything.
                allowed = 0.0
            count = min(int(allowed), self.sizes.pushes - pushes.made)
            allowed -= count
            for each in pushes.next(count, now_ms()):
                producer.produce(topic, key=each.key, value=each.value, headers=list(each.headers))
            while plan and plan[0][0] <= pushes.made and plan[0][1](*plan[0][2:]):
                plan.pop(0)
            self._look_after()
            producer.poll(0.02)
        wait_for("what was produced is delivered", lambda: producer.flush(0.1) == 0, 60)
        self.backlog.halt()
        self.say(f"{pushes.made:,} pushes produced")

    def _plan(self):
        """(after so many pushes, what happens), in this order."""
        actions = [self._kill] * self.sizes.kills + [self._freeze] * self.sizes.freezes + [self._restart] * self.sizes.restarts
        actions += [self._replace_broker] * (self.sizes.brokers if self.brokers else 0)
        self.chance.shuffle(actions)
        places = sorted(self.chance.sample(range(self.sizes.pushes // 20, self.sizes.pushes * 9 // 10), len(actions)))
        plan = list(zip(places, actions)) + [(int(part * self.sizes.pushes), self._set_faults, text) for part, text in FAULTS]
        return sorted(plan, key=lambda each: each[0])

    # -- What goes wrong: each returns whether it could happen now --------------------------------------

    def _set_faults(self, text):
        began = now_ms()
        self.stand_in.set_faults(text)
        # The faults before count until now, these from when they were set on.
        self.cut_offs = [(every, first, min(last, now_ms())) for every, first, last in self.cut_offs]
        if every := re.search(r"\bcut=(\d+)", text):
            self.cut_offs.append((int(every[1]), began, math.inf))
        self.say(f"the providers: {text}")
        return True

    def _choose(self, what):
        free = [each for each in self.world.daemons if each not in self.away]
        if not free:
            return None
        victim = self.chance.choice(free)
        victim.expect_running()
        if not self._ask(victim):
            return None
        self.counts[what] += 1
        return victim

    def _ask(self, daemon):
        """False if it does not answer."""
        now = now_ms()
        if (found := daemon.possibly_twice()) is None:
            return False
        self.twice[daemon.process.pid], self.asked[daemon.process.pid] = found, now
        return True

    def _ended(self, daemon):
        """What it has counted since it was asked is not known. Its last requests are on their way."""
        self.unsaid.append((self.asked[daemon.process.pid], now_ms() + 1_000))

    def _kill(self):
        if not (victim := self._choose("kills")):
            return False
        began = now_ms()
        victim.kill()
        self._ended(victim)
        delay = self.chance.choice((0, self.chance.uniform(0, 2), SESSION_TIMEOUT + 1))
        self.say(f"kill -9 {victim.name}, back in {delay:.1f} s")
        self.away[victim] = Absence(began, after(delay), victim.start)
        return True

    def _freeze(self):
        if not (victim := self._choose("freezes")):
            return False
        began = now_ms()
        victim.signal(signal.SIGSTOP)
        self.say(f"{victim.name} is stopped for longer than its session")
        self.away[victim] = Absence(began, after(SESSION_TIMEOUT + 3), lambda: victim.signal(signal.SIGCONT))
        return True

    def _restart(self):
        """It gives its partitions back with everything committed: nothing is disturbed."""
        if not (victim := self._choose("restarts")):
            return False
        victim.signal(signal.SIGTERM)
        self.say(f"{victim.name} is told to end")

        def start_again():
            victim.expect_exit(EXIT_DRAINED)
            self._ended(victim)
            victim.start()

        deadline = after(60)
        self.away[victim] = Absence(None, lambda: not victim.is_running or deadline(), start_again)
        return True

    def _replace_broker(self):
        if self.brokers in self.away:
            return False
        node = self.counts["brokers replaced"] % self.brokers.nodes + 1
        self.counts["brokers replaced"] += 1
        began = now_ms()
        if self.brokers.nodes == 1:
            self.say("the broker stops, and starts again")
        else:
            self.say(f"kill -9 broker {node}, and it starts again")

        def replace():
            end = self.brokers.stop if self.brokers.nodes == 1 else self.brokers.kill
            end("--node", node)
            self.brokers.start("--node", node)

        # What else goes wrong goes on meanwhile.
        thread = threading.Thread(target=replace, daemon=True)
        thread.start()
        self.away[self.brokers] = Absence(began, lambda: not thread.is_alive(), lambda: self.say("the broker is back"))
        return True

    def _look_after(self):
        """Brings back what was ended; nothing else may end."""
        for each, absence in list(self.away.items()):
            if absence.is_over():
                del self.away[each]
                absence.bring_back()
                if absence.began is not None:
                    # Whoever takes over finds out a moment later.
                    self.disturbances.append((absence.began, now_ms() + 1_000))
        for each in self.world.daemons:
            if each not in self.away:
                each.expect_running()

    # -- The end --------------------------------------------------------------------------------------

    def finish(self):
        self.ends = self.world.wait_until_done(self.world.daemons)
        self.say("everything is finished")
        for each in self.world.daemons:
            if not self._ask(each):
                raise Failure(f"{each.name} does not say what it may have sent twice")
            self.say(f"{each.name} ended in {each.stop(45):.1f} s")
        self.stand_in.end()

    def verify(self):
        report = verify_deliveries(
            self.world.finished_run(
                read_requests(self.stand_in.log),
                possibly_twice=int(sum(self.twice.values())),
                ends=self.ends,
                unsaid=self.unsaid,
                disturbances=self.disturbances,
                cut_offs=self.cut_offs,
            )
        )
        if report.counts["pushes"] != self.sizes.pushes:
            report.add("input", f"{report.counts['pushes']:,} records in the topic, {self.sizes.pushes:,} were made")
        for outcome in ("accepted", "expired", "dead_device", "refused"):
            if not report.counts.get(outcome):
                report.add("nothing to compare", f"no push is {outcome}")
        self.say(
            f"{', '.join(f'{count} {what}' for what, count in self.counts.items())}; "
            f"{sum(self.twice.values()):,.0f} possibly sent twice"
        )
        report.print()
        check(report)


@scenario("every push has one outcome, in the order of its device and never late, while everything fails")
def faults(harness):
    nodes = harness.sizes.nodes
    interval = f"transaction.abort.timed.out.transaction.cleanup.interval.ms={ABORT_INTERVAL}000"
    with harness.brokers("--set", interval, nodes=nodes) if harness.kafka_home else contextlib.nullcontext() as brokers:
        delivery = Delivery(harness, brokers)
        try:
            delivery.start()
            delivery.load()
            delivery.finish()
            delivery.verify()
        finally:
            delivery.stand_in.end()
            delivery.world.kill_daemons()


if __name__ == "__main__":
    sys.exit(main("deliver", __doc__, globals(), sizes=SIZES))
