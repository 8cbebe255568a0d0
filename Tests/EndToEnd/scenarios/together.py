"""Pipeline, broadcasts and sender beside each other on the same topics of one cluster, while processes and brokers are killed: each
push of an order and each of a broadcast is written once, and each of both has one outcome at its provider. Not part of CI."""

import collections
import json
import random
import sys
import threading
import time

from harness.broadcasting import GENERAL, BroadcastWorld
from harness.brokers import free_port
from harness.cluster import Cluster
from harness.daemon import wait_for_daemons
from harness.delivering import GIVE_UP, Sender
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import Failure, now_ms, pause, wait_for
from harness.world import Size, World, check
from model.pushes import read_requests

SIZES = {"seconds": 60, "rate": 100, "devices": 4_000, "kills": 9, "brokers": 3, "partitions": 6}
SHARED = {"session.timeout": "6s", "transaction.timeout": "10s", "shutdown.timeout": "10s"}
# A table may be as old as subscriptions.max-lag says, and so long after a freeze or a broker's end.
MAX_TABLE_AGE = 60
# What happened before the event that came last may have expired, and some events have no time that is valid.
LEAST_SHARE_ACCEPTED = 0.8
# Broadcasts, and changes of the subscriptions of channels, a second.
BROADCASTS, CHANGES = 0.2, 20


class Together:
    """One run: the topics of both worlds are the same, and so are those that a sender reads."""

    def __init__(self, harness, brokers):
        self.harness, self.sizes, self.brokers, self.began = harness, harness.sizes, brokers, time.monotonic()
        self.chance = random.Random(f"together {harness.seed}")
        cluster = Cluster(brokers.start())
        sizes = self.sizes
        self.channels = BroadcastWorld(harness, "together", cluster, sizes.partitions, sizes.devices)
        self.stand_in = StandIn(harness.stand_in, self.channels.folder / "providers", harness.seed)
        self.channels.topics |= {"deliveries": f"{self.channels.name}.deliveries"}
        # The commands that make topics see the sender's credentials, too.
        self.sending = self.stand_in.settings() | {"delivery.give-up": f"{GIVE_UP}s"}
        # Dead letters are the other scenarios' business: they would be in one topic.
        self.orders = World(harness, "orders", cluster, Size(sizes.partitions, 200, 20, poison_rate=0), schedule=False)
        self.orders.happen_now()
        harness.worlds.append(self.orders)
        topics = self.channels.topics
        harness.command(
            "topics",
            "create",
            "--partitions",
            str(sizes.partitions),
            settings=self.channels.settings("operator") | self.sending,
        )
        self.orders.topics |= {name: topics[name] for name in self.orders.topics}
        self.channels.subscribe(self.channels.members.records + self.orders.subscriptions)
        self.channels.starts = cluster.ends(topics["subscriptions"])
        self.cluster, self.away, self.counts = cluster, {}, collections.Counter()

    def say(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    @property
    def daemons(self):
        return self.orders.daemons + self.channels.daemons

    def start(self):
        for number in (1, 2):
            settings = self.orders.settings(f"orders-{number}") | SHARED | {"topic.broadcasts": ""}
            self.orders.daemon(f"orders-{number}", settings).start()
            self.channels.daemon(f"channels-{number}", **{key.replace(".", "_"): value for key, value in SHARED.items()}).start()
        self.channels.wait_for_commits()
        for number in (1, 2):
            settings = self.channels.settings(f"sender-{number}") | SHARED | self.sending
            settings |= {"http": f"127.0.0.1:{free_port()}", "delivery.reap": "off", "delivery.fcm-rate": 100_000_000}
            sender = Sender(f"sender-{number}", self.channels.folder, settings, "earliest", self.harness.carillon)
            self.channels.daemons.append(sender)
            sender.start()
        wait_for("every partition of orders has a commit", lambda: len(self.orders.committed) == self.sizes.partitions, 60)
        self.say("two processes of each are at work")

    def load(self):
        """Orders, broadcasts and changes of subscriptions at their rates; kills and brokers at moments of their own."""
        seconds, sizes = self.sizes.seconds, self.sizes
        faults = sorted(
            [(self.chance.uniform(2, seconds), self._kill) for _ in range(sizes.kills)]
            + [(self.chance.uniform(2, seconds), self._replace_broker) for _ in range(sizes.brokers)],
            key=lambda each: each[0],
        )
        made, changed, published, began = 0, 0, 0, time.monotonic()
        while (at := time.monotonic() - began) < seconds or faults or self.away:
            if at < seconds:
                self.orders.produce(int(at * sizes.rate) - made)
                made = int(at * sizes.rate)
                count = int(at * CHANGES) - changed
                self.channels.subscribe([record for _ in range(count) for record in self.channels.members.next()])
                changed += count
                if published < at * BROADCASTS:
                    self.channels.publish(self.channels.broadcasts.to_channel(GENERAL, now_ms())[1])
                    published += 1
            if faults and faults[0][0] <= at and faults[0][1]():
                faults.pop(0)
            self._look_after()
            pause()
        self.say(f"{made:,} events, {published} broadcasts and {changed:,} changes of subscriptions produced")

    def _kill(self):
        victim = self.chance.choice([each for each in self.daemons if each not in self.away] or [None])
        if victim is None:
            return False
        victim.kill()
        self.counts["kills"] += 1
        delay = self.chance.choice((0, self.chance.uniform(0, 2), 8))
        self.say(f"kill -9 {victim.name}, back in {delay:.1f} s")
        end = time.monotonic() + delay
        self.away[victim] = (lambda: time.monotonic() >= end), victim.start
        return True

    def _replace_broker(self):
        if self.brokers in self.away:
            return False
        node = self.counts["brokers"] % self.brokers.nodes + 1
        self.counts["brokers"] += 1
        self.say(f"kill -9 broker {node}, and it starts again")

        def replace():
            self.brokers.kill("--node", node)
            self.brokers.start("--node", node)

        thread = threading.Thread(target=replace, daemon=True)
        thread.start()
        self.away[self.brokers] = (lambda: not thread.is_alive()), lambda: self.say("the broker is back")
        return True

    def _look_after(self):
        for each, (is_over, bring_back) in list(self.away.items()):
            if is_over():
                del self.away[each]
                bring_back()
        for each in self.daemons:
            if each not in self.away:
                each.expect_running()

    @property
    def dispatched(self):
        return [self.channels.topics["dispatch"], self.channels.dispatch]

    def pushes_of(self, topic):
        """Its records, each with the device and the message id."""
        for record in self.cluster.stream(topic):
            yield record, (record.key.decode(), dict(record.headers)["message-id"].decode())

    def _ended(self):
        """By topic, partition and offset of the dispatch record: its outcomes."""
        found = collections.defaultdict(list)
        for record in self.cluster.stream(self.channels.topics["deliveries"]):
            value = json.loads(record.value)
            found[value["topic"], value["partition"], value["offset"]].append(value)
        return found

    def finish(self):
        self.orders.wait_until_done(180)
        self.channels.wait_until_done(180)
        pushes = sum(sum(1 for _ in self.cluster.stream(topic)) for topic in self.dispatched)
        wait_for_daemons("every push has an outcome", lambda: len(self._ended()) >= pushes, self.daemons, 180)
        for each in self.daemons:
            self.say(f"{each.name} ended in {each.stop(45):.1f} s")
        self.stand_in.end()

    def verify(self):
        reports = [self.orders.verify(max_table_age_ms=MAX_TABLE_AGE * 1_000), self.channels.verify(0)]
        for report in reports:
            report.print()
        ended = self._ended()
        requests = read_requests(self.stand_in.log)
        accepted = collections.Counter((each.device, each.message) for each in requests if each.is_accepted)
        # A device that left and came back gets the same message again; and what a process had not committed is sent again.
        outcomes, twice = collections.Counter(), 0
        for topic in self.dispatched:
            for record, push in self.pushes_of(topic):
                found = ended.pop((topic, record.partition, record.offset), [])
                if len(found) != 1:
                    raise Failure(f"{topic}/{record.partition}/{record.offset} has {len(found)} outcomes")
                outcomes[topic.removeprefix(self.channels.name), found[0]["outcome"]] += 1
                if found[0]["outcome"] == "accepted" and not accepted[push]:
                    raise Failure(f"{push} is accepted, and the provider has not seen it")
                twice += max(0, accepted[push] - 1)
        if ended:
            raise Failure(f"{len(ended)} outcomes of no push: {list(ended)[:3]}")
        self.say(f"{dict(self.counts)}; outcomes {dict(outcomes)}; {twice} more were accepted")
        for topic in self.dispatched:
            own = {outcome: count for (name, outcome), count in outcomes.items() if name == topic.removeprefix(self.channels.name)}
            if own.get("accepted", 0) < LEAST_SHARE_ACCEPTED * sum(own.values()):
                raise Failure(f"few pushes of {topic} were accepted: {own}")
        for report in reports:
            check(report)


@scenario("pipeline, broadcasts and sender together: every push is written once and has one outcome, whatever is killed")
def faults(harness):
    interval = "transaction.abort.timed.out.transaction.cleanup.interval.ms=2000"
    with harness.brokers("--set", interval, nodes=3) as brokers:
        together = Together(harness, brokers)
        try:
            together.start()
            together.load()
            together.finish()
            together.verify()
        finally:
            together.stand_in.end()
            for each in together.daemons:
                each.kill_if_running()


if __name__ == "__main__":
    sys.exit(main("together", __doc__, globals(), sizes=SIZES))
