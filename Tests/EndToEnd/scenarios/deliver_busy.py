"""The sender against an endpoint that is not the project's own, Node's HTTP/2: a device with a backlog, dead devices, an outage at
low volume, short-lived pushes, a closed window, newer pushes of one collapse key; and one run with faults, kills and a freeze.

The sizes are CI's; `Tests/EndToEnd/run deliver-busy --pushes 20000 --kills 8 --devices 1000 --each 60` is the full run."""

import collections
import contextlib
import random
import signal
import sys
import time

from generator.dispatch import Pushes
from harness.daemon import EXIT_REFUSED, wait_for_daemons
from harness.delivering import SHORT_DELAYS, DeliveryWorld
from harness.endpoint import Endpoint
from harness.reaping import HOUR_MS
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, now_ms, pause, wait_for
from harness.world import check
from model.pushes import push_of
from model.report import Report
from model.traffic import TIMEOUT, Traffic, check_outcomes, check_requests, check_superseded, check_waits, in_flight

SIZES = {"backlog": 6_000, "others": 3_000, "devices": 100, "each": 30, "pushes": 3_000, "rate": 600, "kills": 2, "freezes": 1}
SESSION_TIMEOUT = 6
# How long nobody may send after a process died, in milliseconds: until its session is over, and the others have their answers.
HAND_OVER = 1_000 * (SESSION_TIMEOUT + 4) + TIMEOUT
LATENCY = 100
# How much memory a sender needs more than when it was ready, in MiB: 64 KiB for each of 1,000 requests, and what is on its way from
# the broker. AddressSanitizer keeps what was freed, but for ASAN_OPTIONS=quarantine_size_mb=1.
MEMORY = 64 + 32
# How long an answer may be uncommitted, in milliseconds.
UNCOMMITTED = 2_000
# The shares of requests in the run with faults; 12 % together.
FAULTS = {
    "internal": 0.03,
    "unavailable": 0.03,
    "later": 0.02,
    "quota": 0.01,
    "goaway": 0.005,
    "reset": 0.02,
    "cut": 0.0005,
    "silent": 0.0045,
}


class Busy:
    """Topics, an endpoint, and senders."""

    def __init__(self, harness, name, partitions=6, **state):
        self.world = DeliveryWorld(harness, name, harness.cluster(), partitions)
        self.world.create_topics()
        self.endpoint = Endpoint(self.world.folder / "providers", harness.seed)
        self.endpoint.set(**state)
        self.traffic = Traffic(self.endpoint.log)
        self.began = time.monotonic()

    def say(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {self.world.name}: {text}", flush=True)

    def start(self, *names, hurried=False, **settings):
        """`hurried` senders are a debug build's, whose retries wait for a shorter time."""
        start = self.world.hurried_sender if hurried else self.world.sender
        for name in names or ("a",):
            own = {"session.timeout": f"{SESSION_TIMEOUT}s", "delivery.give-up": "1h"} | settings
            start(name, self.world.settings(name, **own) | self.endpoint.settings()).start()
        wait_for_daemons("the senders are ready", lambda: all(each.is_ready for each in self.world.daemons), self.world.daemons)

    def produce(self, records):
        self.world.cluster.produce(self.world.dispatch, records)
        return now_ms()

    def wait_until_done(self):
        self.world.wait_until_done(self.world.daemons)

    def end(self):
        """Ends everything in order; the endpoint's log is whole."""
        for each in self.world.daemons:
            each.stop(45)
        self.endpoint.end()

    @property
    def seen(self):
        return self.traffic.seen()

    def check(self, disturbances=(), delay=None):
        """What the verifier says of the whole run; with the longest delay of a retry also of how long pushes waited."""
        report, seen = Report(), self.seen
        pushes = [push_of(each) for each in self.world.cluster.read(self.world.dispatch)]
        deliveries = self.world.cluster.read(self.world.topics["deliveries"])
        check_outcomes(pushes, deliveries, seen, report, disturbances)
        check_requests(pushes, seen, report, disturbances)
        check_superseded(pushes, deliveries, seen, report)
        if delay:
            check_waits(pushes, seen, report, delay, disturbances)
        report.counts["retries written"] = sum(len(self.world.cluster.read(each)) for each in self.world.retries)
        report.print()
        check(report)
        return collections.Counter(report.counts)


@contextlib.contextmanager
def busy(harness, name, **state):
    made = Busy(harness, name, **state)
    try:
        yield made
    finally:
        made.endpoint.end()
        made.world.kill_daemons()


def devices(pushes, count, platform="fcm"):
    """So many new devices of a platform."""
    found = []
    while len(found) < count:
        target = pushes.target()
        found += [target] if target.platform == platform else []
    return found


def taken_at(seen, targets):
    """When the first push of each of these devices was taken."""
    wanted, found = {each.token_hash for each in targets}, {}
    for each in seen:
        if each.taken and each.device in wanted:
            found.setdefault(each.device, each.at)
    return found


def seconds_until_all(run, targets, since, limit):
    """How long it took until each of these devices had a push."""
    with contextlib.suppress(Failure):
        wait_for_daemons("each has a push", lambda: len(taken_at(run.seen, targets)) == len(targets), run.world.daemons, limit)
    found = taken_at(run.seen, targets)
    if len(found) < len(targets):
        run.say(f"{len(targets) - len(found):,} of {len(targets):,} devices have nothing after {(now_ms() - since) / 1_000:.1f} s")
    return max([each - since for each in found.values()] + [0 if len(found) == len(targets) else now_ms() - since]) / 1_000


def beside(harness, name, count, each, most, least_share=0.0, **state):
    """Devices with a backlog, before others with one push, and before a few that come later: `most` are the seconds that both may
    wait, less than the backlog takes."""
    with busy(harness, name, latency=LATENCY, **state) as run:
        pushes = Pushes(harness.seed, 0)
        crowd, others, new = (devices(pushes, number) for number in (count, harness.sizes.others, 20))

        def produce(targets):
            return run.produce([pushes.record(target, now_ms(), now_ms() + HOUR_MS) for target in targets])

        produce(crowd * each)
        produce(others)
        run.start()
        first = wait_for("a request", lambda: run.seen)[0].at
        took = seconds_until_all(run, others, first, 10)
        took_new = seconds_until_all(run, new, produce(new), 5)
        # Its rate from here on, when nobody else is sent to. What slows it down always does; other work of the machine passes.
        share = share_of_backlog(run, crowd)
        for _ in range(4):
            if share < least_share:
                share = max(share, share_of_backlog(run, crowd))
        report = Report()
        check_requests([push_of(record) for record in run.world.cluster.read(run.world.dispatch)], run.seen, report)
        run.say(f"the others within {took:.1f} s, the new ones within {took_new:.1f} s; the backlog at {share:.0%} of 1/latency")
        check(report)
        if took > most[0] or took_new > most[1]:
            raise Failure(f"others waited {took:.1f} s ({most[0]} at most), new ones {took_new:.1f} s ({most[1]} at most)")
        if share < least_share:
            raise Failure(f"its own pushes come at {share:.0%} of one in each {LATENCY} ms")


def share_of_backlog(run, crowd):
    """How many pushes these devices get in five seconds, of one in each latency."""
    began, hashes = now_ms(), {target.token_hash for target in crowd}
    wait_for("the backlog was watched", lambda: now_ms() - began > 5_000)
    seen, elapsed = run.seen, now_ms() - began
    taken = sum(each.taken for each in seen if each.device in hashes and each.at >= began)
    return taken / len(crowd) / (elapsed / LATENCY)


@scenario("a device with a backlog gets its pushes in order, one after another, and nobody else waits for it")
def one_device(harness):
    beside(harness, "one-device", 1, harness.sizes.backlog, (10, 3), least_share=0.7)


@scenario("nor where many devices have a backlog")
def many_devices(harness):
    beside(harness, "many-devices", harness.sizes.devices, harness.sizes.each, (5, 2))


@scenario("where every answer is a dead device, the registrar is told of none without a person", background=True)
def dead_devices(harness):
    with busy(harness, "dead", partitions=2, dead=1) as run:
        pushes = Pushes(harness.seed, 0)
        targets = devices(pushes, 499, "apns")
        run.world.topics["commands"] = f"{run.world.name}.commands"
        run.world.cluster.create_topics({run.world.topics["commands"]: (1, {})})
        run.start()
        run.produce([pushes.record(each, now_ms(), now_ms() + HOUR_MS) for each in targets])
        run.wait_until_done()
        expect("dead devices", run.check()["dead_device"], len(targets))
        settings = run.world.settings("reap")
        said = harness.command("deliver", "reap", "--yes", settings=settings, expected=EXIT_REFUSED)
        if f"--confirm {len(targets)}" not in said:
            raise Failure(f"it says: {said}")
        expect("what the registrar was told", run.world.cluster.read(run.world.topics["commands"]), [])


@scenario("an outage longer than delivery.give-up costs no push where few are sent", background=True)
def low_volume(harness):
    with busy(harness, "low-volume", partitions=2) as run:
        run.start(hurried=True, **{"delivery.give-up": "8s"})
        pushes = Pushes(harness.seed, 0)
        targets = devices(pushes, 5)
        run.endpoint.set(faults={"unavailable": 1})
        began = time.monotonic()
        for number in range(12):
            wait_for("its turn", lambda at=began + number: time.monotonic() >= at)
            run.produce([pushes.record(targets[number % 5], now_ms(), now_ms() + HOUR_MS)])
        run.endpoint.set(faults={})
        run.wait_until_done()
        run.end()
        expect("accepted", run.check()["accepted"], 12)


@scenario("a push that lives shorter than APNs asks to wait after a 503 is tried again within its life", background=True)
def short_lived(harness):
    with busy(harness, "short-lived", partitions=2, faults={"unavailable": 1}) as run:
        run.start()
        pushes = Pushes(harness.seed, 0)
        records = [pushes.record(each, now_ms(), now_ms() + 20_000) for each in devices(pushes, 10, "apns")]
        run.produce(records)
        wait_for("each was tried", lambda: len({each.device for each in run.seen}) >= 1)
        run.endpoint.set(faults={})
        run.wait_until_done()
        run.end()
        expect("accepted", run.check()["accepted"], len(records))


@scenario("a request that the peer's flow control holds back does not arrive after its expiry", background=True)
def closed_window(harness):
    with busy(harness, "closed-window", partitions=2) as run:
        run.start()
        pushes = Pushes(harness.seed, 0)
        (warm, *targets) = devices(pushes, 11)
        run.produce([pushes.record(warm, now_ms(), now_ms() + HOUR_MS)])
        wait_for("a connection", lambda: run.seen)
        run.endpoint.set(bodies=False)
        records = [pushes.record(each, now_ms(), now_ms() + 3_000) for each in targets]
        since = run.produce(records)
        wait_for("they have expired", lambda: now_ms() > since + 5_000)
        run.endpoint.set(bodies=True)
        run.wait_until_done()
        run.end()
        counts = run.check()
        expect("accepted", (counts["accepted"], counts["gave_up"] + counts["expired"]), (1, len(records)))


@scenario("of the pushes of a device that wait only the newest of a request's collapse key is sent", background=True)
def superseded(harness):
    with busy(harness, "superseded", partitions=2) as run:
        run.start(hurried=True)
        pushes, chance = Pushes(harness.seed, 0), random.Random(f"superseded {harness.seed}")
        (failing,), targets = devices(pushes, 1), devices(pushes, 5) + devices(pushes, 5, "apns")

        def produce(targets, keys, lives=(HOUR_MS,)):
            """One push for each of these devices and each key; None is an order's."""
            now = now_ms()
            run.produce([pushes.record(each, now, now + chance.choice(lives), key) for key in keys for each in targets])
            return len(targets) * len(keys)

        # The first request of a connection to APNs is alone on it.
        made = produce(targets, [None])
        wait_for("each has one", lambda: len(run.seen) >= made)
        run.endpoint.set(faults={"unavailable": 1})
        made += produce([failing], ["news"])
        wait_for("an attempt has failed", lambda: len(run.seen) >= made)
        # Long enough that all of them are open at the same time, though they come one after the other.
        run.endpoint.set(faults={}, latency=5_000)
        # It waits for another attempt.
        made += produce([failing], ["news"])
        made += produce(targets, ["news"])
        wait_for("each has one in flight", lambda: run.endpoint.set()["open"] >= len(targets))
        run.endpoint.set(latency=0)
        keys = ["news", *chance.choices(("news", "bills", None), k=10), None, "bills", "news", "sync"]
        made += produce(targets, keys, (HOUR_MS, HOUR_MS, HOUR_MS, 500))
        run.wait_until_done()
        run.end()
        counts = run.check()
        expect("pushes, and kinds of ends", (counts["pushes"], {"accepted", "expired", "superseded"} <= set(counts)), (made, True))


class Faults:
    """The run in which everything fails: what is produced, and which processes die meanwhile."""

    def __init__(self, harness, run):
        self.harness, self.run = harness, run
        self.chance = random.Random(f"busy {harness.seed}")
        self.twice, self.kills, self.disturbances = {}, [], []
        # What a sender has when it is ready, and how much more one has had, in MiB.
        self.ready, self.memory = max(each.peak for each in run.world.daemons), 0

    def ask(self, daemon):
        self.memory = max(self.memory, daemon.peak - self.ready)
        if (found := daemon.possibly_twice()) is not None:
            self.twice[daemon.process.pid] = found

    def kill(self):
        victim = self.chance.choice(self.run.world.daemons)
        self.ask(victim)
        began = now_ms()
        self.kills.append(began)
        victim.kill()
        victim.start()
        self.disturbances.append((began - UNCOMMITTED, began + HAND_OVER))

    def freeze(self):
        victim = self.chance.choice(self.run.world.daemons)
        began = now_ms()
        self.kills.append(began)
        victim.signal(signal.SIGSTOP)
        wait_for("its session is over", lambda: now_ms() > began + 1_000 * (SESSION_TIMEOUT + 2))
        victim.signal(signal.SIGCONT)
        self.disturbances.append((began - UNCOMMITTED, now_ms() + HAND_OVER))

    def load(self):
        sizes, pushes = self.harness.sizes, Pushes(self.harness.seed, 0)
        everyone = devices(pushes, max(50, sizes.pushes // 4), "fcm")
        # One push in ten is for one of nine.
        targets = self.chance.choices(everyone[:9], k=sizes.pushes // 10) + self.chance.choices(everyone, k=sizes.pushes * 9 // 10)
        self.chance.shuffle(targets)
        actions = [self.kill] * sizes.kills + [self.freeze] * sizes.freezes
        self.chance.shuffle(actions)
        places = sorted(self.chance.sample(range(len(targets) // 10, len(targets) * 9 // 10), len(actions)))
        plan = list(zip(places, actions))
        began, made, behind = time.monotonic(), 0, 0.0
        while made < len(targets):
            count = min(int((time.monotonic() - began - behind) * sizes.rate) - made, len(targets) - made)
            self.run.produce([pushes.record(each, now_ms(), now_ms() + HOUR_MS) for each in targets[made : made + count]])
            made += max(0, count)
            while plan and plan[0][0] <= made:
                since = time.monotonic()
                plan.pop(0)[1]()
                behind += time.monotonic() - since
            pause()
        return len(targets)


@scenario("one outcome each, in order and in time, over faults, kills and a freeze; and what it costs is within its bounds")
def faults(harness):
    with busy(harness, "faults", latency=20, faults=FAULTS) as run:
        run.start("p1", "p2", hurried=True)
        load = Faults(harness, run)
        made = load.load()
        run.say(f"{made:,} pushes produced; {len(load.kills)} kills and freezes")
        run.wait_until_done()
        for each in run.world.daemons:
            load.ask(each)
        run.end()
        counts = run.check(load.disturbances, 1_000 * max(SHORT_DELAYS))
        twice, bound = sum(load.twice.values()), 10 * counts["taken again"] + in_flight(run.seen, load.kills)
        retries = counts["retries written"] / made
        run.say(f"{twice:,.0f} possibly twice, {bound:,} at most; {retries:.2f} retries a push; {load.memory} MiB more at most")
        expect("pushes", counts["pushes"], made)
        problems = []
        if counts["gave_up"] > made / 50:
            problems.append(f"{counts['gave_up']:,} gave up (2 % at most)")
        if not counts["taken again"] <= twice <= bound:
            problems.append(f"{twice:,.0f} possibly twice, of {counts['taken again']:,} that were ({bound:,} at most)")
        if retries > 2:
            problems.append(f"{retries:.2f} retries a push (2 at most)")
        if load.memory > MEMORY:
            problems.append(f"{load.memory} MiB more than when it was ready ({MEMORY} at most)")
        if problems:
            raise Failure("; ".join(problems))


if __name__ == "__main__":
    sys.exit(main("deliver-busy", __doc__, globals(), sizes=SIZES))
