"""Orders and requests beside each other, on a broker: each record of both topics once, whatever dies."""

import random
import sys
import time

from generator.inputs import Input, compact, subscription_key
from generator.requests import Requests
from harness.scenario import main, scenario
from harness.waiting import Failure, wait_for
from harness.world import check
from model.journal import read_journal
from model.records import Settings
from model.subscriptions import Subscriptions
from model.verify import Run, verify
from scenarios.requests import expected, found, make_table

AUDIENCES = [f"{kind}/{number}" for kind in ("user", "channel") for number in range(20)]


class BothTopics:
    """A world whose pipeline reads requests as well."""

    def __init__(self, harness, name, partitions=3):
        self.world = world = harness.make_world(name)
        self.topic = f"{world.name}.requests"
        now = int(time.time() * 1000)
        table = make_table(random.Random(harness.seed), AUDIENCES, now)
        world.subscriptions += [Input(subscription_key(each["audience"], each["token"]), compact(each)) for each in table]
        world.create_topics()
        world.cluster.create_topics({self.topic: (partitions, {})})
        self.source = Requests(harness.seed, [*AUDIENCES, "user/nobody"], bad_rate=0.02)
        self.source.now = now

    def settings(self, name="a", **more):
        return self.world.settings(name, topic_requests=self.topic, **more)

    def produce(self, events, requests):
        self.world.produce(events)
        self.world.cluster.produce(self.topic, [self.source.next().input for _ in range(requests)])

    def wait_until_done(self, seconds=90):
        world, cluster = self.world, self.world.cluster
        wait_for(
            "the group has committed to the end of both topics",
            lambda: world.committed == world.ends and cluster.committed(world.name, self.topic) == cluster.ends(self.topic),
            seconds,
        )

    def verify(self):
        """The verifier's report of the orders, with the differences of the requests in it."""
        world, cluster = self.world, self.world.cluster
        events, requests = cluster.read(world.topics["events"]), cluster.read(self.topic)
        subscriptions = cluster.read(world.topics["subscriptions"])
        journal = cluster.read(world.topics["journal"])
        of_requests, of_orders = [], []
        for record in [*cluster.stream(world.topics["dispatch"]), *cluster.read(world.topics["dead-letters"])]:
            headers = dict(record.headers)
            topic = headers.get("__connect.errors.topic", headers.get("source", b"").rsplit(b"/", 2)[0])
            (of_requests if topic.decode() == self.topic else of_orders).append(record)
        ends = {(topic, at): end for topic in (world.topics["events"], self.topic) for at, end in cluster.ends(topic).items()}
        run = Run(
            settings=world.rules,
            events=events,
            subscriptions=subscriptions,
            dispatch=[each for each in of_orders if each.topic == world.topics["dispatch"]],
            dead_letters=[each for each in of_orders if each.topic == world.topics["dead-letters"]],
            journal=journal,
            dispatch_partitions=len(cluster.partitions(world.topics["dispatch"])),
            starts={place: 0 for place in ends},
            ends=ends,
            requests=requests,
        )
        report = verify(run)
        table = Subscriptions(subscriptions)
        ledger = read_journal(run, max(table.ends, default=-1) + 1, report)
        self.compare(requests, of_requests, ledger, table, report)
        return report

    def compare(self, requests, written, ledger, table, report):
        """Each request's pushes and dead letter, once, as its transaction had to write them."""
        sent, dead = found(written)
        pushes = 0
        for record in requests:
            spans = ledger[record.topic, record.partition]
            span = next((each for each in spans if each.first <= record.offset < each.last), None)
            if span is None:
                continue
            due, codes = expected(record, table, Settings(), clock=span.clock, position=span.table)
            pushes += len(due)
            if sent.pop(record.source, {}) != due:
                report.add("a request gave other pushes", f"{record.source}: {record.value!r}")
            code = dead.pop(record.source, None)
            if (code is None) != (codes is None) or codes is not None and code not in codes:
                report.add("a request gave another dead letter", f"{record.source}: {code}, by the rules {codes}")
        for source in [*sent, *dead]:
            report.add("a push of no request", source)
        report.counts |= {"requests": len(requests), "pushes of requests": pushes}
        if not pushes:
            raise Failure("no request was sent")


@scenario("a deployment that turns requests on continues where it was, and sends both, each once, over kills")
def turned_on(harness):
    both = BothTopics(harness, "turned-on")
    world = both.world
    world.produce(1_000)
    world.started().stop()
    # Requests begin an hour ago without --from.
    daemon = world.daemon("a", both.settings(), start_at=None).start()
    chance = random.Random(harness.seed)
    for _ in range(4):
        both.produce(700, 700)
        time_out = time.monotonic() + chance.uniform(0.2, 1.5)
        wait_for("a moment has passed", lambda: time.monotonic() > time_out, 5)
        daemon.kill()
        daemon.start()
    both.produce(100, 100)
    both.wait_until_done()
    daemon.stop()
    check(both.verify())


@scenario("requests that retention removes before they are read are told, and everything else continues")
def overtaken(harness):
    both = BothTopics(harness, "overtaken", partitions=1)
    world, cluster = both.world, both.world.cluster
    daemon = world.daemon("a", both.settings(), start_at="earliest").start()
    both.produce(200, 200)
    both.wait_until_done()
    daemon.stop()
    both.produce(200, 200)
    cluster.delete_records(both.topic, 0, 300)
    daemon.start()
    wait_for("the loss is told", lambda: daemon.has_line("offset out of range", "100 requests are lost"), 30)
    both.wait_until_done()
    daemon.expect_running()
    daemon.stop()


if __name__ == "__main__":
    sys.exit(main("both-topics", __doc__, globals()))
