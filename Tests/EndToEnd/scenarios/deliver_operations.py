"""What a person does with `carillon deliver` on a real broker: broadcasts are turned on, and what a provider has refused is
explained, and sent again."""

import collections
import json
import sys

from generator.dispatch import Pushes
from generator.inputs import Input, subscription
from harness.brokers import free_port
from harness.daemon import EXIT_CONFIGURATION, wait_for_daemons
from harness.delivering import RETRIES, DeliveryWorld, Sender, by_debug_build
from harness.redrive import order, redrive, token
from harness.replaying import CONFIRMATION, documents
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import Failure, expect, now_ms
from harness.world import check
from model.deliveries import verify_one_outcome
from model.pushes import read_requests


def produce(world, pushes, count):
    world.cluster.produce(world.dispatch, pushes.next(count, now_ms()))


def outcomes(world):
    """The values of all outcomes, and what they are of: (partition, offset)."""
    values = [json.loads(each.value) for each in world.cluster.read(world.topics["deliveries"])]
    return values, collections.Counter((each["partition"], each["offset"]) for each in values)


def expect_one_outcome(world, *topics):
    deliveries = list(world.cluster.read(world.topics["deliveries"]))
    for topic in topics:
        report = verify_one_outcome(topic, list(world.cluster.read(topic)), deliveries)
        report.print()
        check(report)


@scenario("broadcasts are turned on with a setting alone, and what is cancelled is not sent", background=True)
def broadcasts(harness):
    world = DeliveryWorld(harness, "broadcasts", harness.cluster(), partitions=3)
    world.create_topics()
    topic, dispatch = f"{world.name}.broadcasts", f"{world.dispatch}.broadcasts"
    retries = [f"{dispatch}.retry.{delay}" for delay in RETRIES]
    by_broker = {"message.timestamp.type": "LogAppendTime"}
    world.cluster.create_topics({topic: (1, {})} | {each: (world.partitions, by_broker) for each in (dispatch, *retries)})
    stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed)
    pushes = Pushes(harness.seed, 200)

    def broadcast(key, value=b"{}"):
        world.cluster.produce(topic, [Input(key, value)])

    def push(count, source):
        """So many records, of the broadcast at this offset."""
        made = [pushes.record(each, now_ms(), now_ms() + 600_000) for each in pushes.chance.choices(pushes.targets, k=count)]
        sources = [
            tuple((name, f"{topic}/0/{source}".encode() if name == "source" else value) for name, value in each.headers)
            for each in made
        ]
        world.cluster.produce(dispatch, [each._replace(headers=headers) for each, headers in zip(made, sources, strict=True)])
        return {dict(each.headers)["message-id"].decode() for each in made}

    def ended(of):
        found = collections.Counter()
        for value in outcomes(world)[0]:
            if value["message_id"] in of:
                expect("its topic", value["topic"], dispatch)
                found[value["outcome"]] += 1
        return dict(found)

    try:
        without = world.settings("p") | stand_in.settings() | {"delivery.give-up": "10m"}
        with_broadcasts = without | {"topic.broadcasts": topic}
        sender = world.sender("p", without)
        sender.start()
        produce(world, pushes, 100)
        wait_for_daemons("orders have ended", lambda: len(outcomes(world)[1]) == 100, [sender])
        sender.stop()
        broadcast(b"kept")
        broadcast(b"cancelled")
        kept, cancelled = push(150, source=0), push(50, source=1)
        broadcast(b"cancelled", None)
        sender = world.hurried_sender("p", with_broadcasts)
        sender.start()
        wait_for_daemons("broadcasts have ended", lambda: len(outcomes(world)[0]) == 300, [sender])
        expect("what is kept, and what is cancelled", (ended(kept), ended(cancelled)), ({"accepted": 150}, {"cancelled": 50}))
        # It waits for another attempt when it is replaced.
        stand_in.set_faults("quota=1")
        waiting = push(30, source=0)
        wait_for_daemons("they wait in a retry topic", lambda: sum(world.cluster.ends(retries[0]).values()) >= 30, [sender])
        broadcast(b"kept", b"[]")
        wait_for_daemons("they have ended", lambda: ended(waiting) == {"cancelled": 30}, [sender])
        stand_in.set_faults("")
        sender.stop()
        stand_in.end()
        requests = collections.Counter(each.message for each in read_requests(stand_in.log) if each.is_accepted)
        expect("accepted more than once", [each for each, count in requests.items() if count > 1], [])
        expect("sent, though it was cancelled", cancelled & requests.keys(), set())
        expect_one_outcome(world, world.dispatch, dispatch)
    finally:
        stand_in.end()
        world.kill_daemons()


@scenario(
    "a request that a command cancels is not sent, before it comes and while it waits for another attempt; nor is anything to "
    "a provider that a command has paused, until it is resumed",
    background=True,
)
def cancelled_and_paused(harness):
    world = DeliveryWorld(harness, "control", harness.cluster(), partitions=2)
    world.create_topics()
    topic = f"{world.name}.control"
    world.cluster.create_topics({topic: (1, {"message.timestamp.type": "LogAppendTime"})})
    stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed)
    pushes = Pushes(harness.seed, 60)
    settings = world.settings("p") | stand_in.settings() | {"delivery.give-up": "10m", "topic.control": topic}
    apple, google = ([each for each in pushes.targets if each.platform == kind] for kind in ("apns", "fcm"))

    def push(request, targets):
        """A push of the request for each of them."""
        made = [pushes.record(each, now_ms(), now_ms() + 600_000) for each in targets]
        named = (("request-id", request.encode()),)
        world.cluster.produce(world.dispatch, [each._replace(headers=each.headers + named) for each in made])
        return {dict(each.headers)["message-id"].decode() for each in made}

    def ended(of):
        return dict(collections.Counter(each["outcome"] for each in outcomes(world)[0] if each["message_id"] in of))

    def command(*words):
        return documents(world, *words, settings=settings)[0]

    def holds(sender, provider):
        return f'carillon_delivery_held_back{{platform="{provider}",credential=""}} 1' in (sender.page("/metrics") or "")

    def asked(sender):
        """How many requests FCM has had."""
        lines = (sender.page("/metrics") or "").splitlines()
        return sum(float(each.split()[-1]) for each in lines if each.startswith('carillon_delivery_requests_total{platform="fcm"'))

    try:
        command("cancel", "too-early", "--why", "a test")
        sender = world.hurried_sender("p", settings)
        sender.start()
        early, sent = push("too-early", pushes.targets[:10]), push("sent", pushes.targets[10:20])
        wait_for_daemons("they have ended", lambda: (ended(early), ended(sent)) == ({"cancelled": 10}, {"accepted": 10}), [sender])
        stand_in.set_faults("quota=1")
        waiting = push("waits", pushes.targets[:20])
        wait_for_daemons("they wait", lambda: sum(sum(world.cluster.ends(each).values()) for each in world.retries) >= 20, [sender])
        command("cancel", "waits")
        wait_for_daemons("they are cancelled", lambda: ended(waiting) == {"cancelled": 20}, [sender])
        stand_in.set_faults("")
        expect("the pause", command("deliver", "pause", "fcm", "--why", "wrong texts")[0]["paused"], True)
        (pause,) = command("deliver", "paused")
        expect("what is paused", (pause["provider"], pause["why"]), ("fcm", "wrong texts"))
        wait_for_daemons("it knows", lambda: holds(sender, "fcm"), [sender])
        sender.expect_line("the provider is paused", "wrong texts")
        before = asked(sender)
        paused, others = push("later", google), push("later", apple)
        wait_for_daemons("the others are sent", lambda: ended(others) == {"accepted": len(apple)}, [sender])
        expect("outcomes of a paused provider", ended(paused), {})
        expect("requests to it", asked(sender), before)
        wait_for_daemons("it is ready all the same", lambda: sender.is_ready, [sender])
        command("deliver", "resume", "fcm")
        expect("what is paused", command("deliver", "paused"), [])
        wait_for_daemons("the rest is sent", lambda: ended(paused) == {"accepted": len(google)}, [sender])
        sender.stop()
        stand_in.end()
        accepted = {each.message for each in read_requests(stand_in.log) if each.is_accepted}
        expect("sent, though it was cancelled", (early | waiting) & accepted, set())
        expect_one_outcome(world, world.dispatch)
    finally:
        stand_in.end()
        world.kill_daemons()


@scenario("what a provider refuses is explained, and sent again once by a re-drive; what it took is not", background=True)
def undelivered(harness):
    world = harness.make_world("undelivered", schedule=False)
    world.subscriptions = []
    world.create_topics()
    world.topics["deliveries"] = f"{world.name}.deliveries"
    by_broker = {"message.timestamp.type": "LogAppendTime"}
    retries = {f"{world.topics['dispatch']}.retry.{delay}": (world.partitions, by_broker) for delay in RETRIES}
    world.cluster.create_topics({world.topics["deliveries"]: (world.partitions, {})} | retries)
    devices = 4
    places = [subscription(f"p{place}", token(world, place, number)) for place in range(3) for number in range(devices)]
    world.cluster.produce(world.topics["subscriptions"], places)
    stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed, "mismatch=1")
    settings = world.settings("sender", http=f"127.0.0.1:{free_port()}") | stand_in.settings()
    sender = Sender("sender", world.folder, settings, "earliest", harness.carillon)

    def ended(kind):
        return sum(each["outcome"] == kind for each in outcomes(world)[0])

    try:
        world.started()
        sender.start()
        world.cluster.produce(world.topics["events"], [order(number) for number in range(6)])
        wait_for_daemons("all are refused", lambda: ended("refused") == 6 * devices, [sender])
        stand_in.set_faults("")
        world.cluster.produce(world.topics["events"], [order(number) for number in range(6, 9)])
        wait_for_daemons("the others are accepted", lambda: ended("accepted") == 3 * devices, [sender])
        for number, outcome, reason in ((0, "refused", "SENDER_ID_MISMATCH"), (8, "accepted", None)):
            found, _ = documents(world, "explain", "--order", f"o{number}", settings=world.settings("explain"))
            told = [each for document in found for push in document.get("pushes", []) for each in push.get("outcomes", [])]
            expect(
                f"what became of order {number}",
                [(each["outcome"], each.get("reason")) for each in told],
                [(outcome, reason)] * devices,
            )
        (plan,), _ = redrive(world, "--undelivered", "--dry-run")
        expect("the plan", plan["plan"]["devices"], 6 * devices)
        redrive(world, "--undelivered", CONFIRMATION, "--confirm", str(6 * devices))
        wait_for_daemons("what was refused is accepted", lambda: ended("accepted") == 9 * devices, [sender])
        (again,), _ = redrive(world, "--undelivered", "--dry-run")
        expect("a second plan", again["plan"]["devices"], 0)
        stand_in.end()
        accepted = collections.Counter((each.message, each.device) for each in read_requests(stand_in.log) if each.is_accepted)
        expect("pushes, and how often the provider took each", (len(accepted), set(accepted.values())), (9 * devices, {1}))
    finally:
        stand_in.end()
        sender.kill_if_running()
        for each in world.daemons:
            each.kill_if_running()


@scenario(
    "a provider whose next offset is gone by retention is left out, and that is said; the other one gets its pushes",
    background=True,
)
def overtaken(harness):
    world = DeliveryWorld(harness, "overtaken", harness.cluster(), partitions=2)
    world.create_topics()
    stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed)
    pushes = Pushes(harness.seed, 50)
    settings = world.settings("p") | stand_in.settings()
    apple = [each for each in pushes.targets if each.platform == "apns"]

    def push(count):
        """So many valid ones of Apple's devices."""
        made = [pushes.record(each, now_ms(), now_ms() + 600_000) for each in pushes.chance.choices(apple, k=count)]
        world.cluster.produce(world.dispatch, made)

    def finish(count, *senders):
        wait_for_daemons("they have ended", lambda: len(outcomes(world)[0]) == count, senders)

    try:
        both = world.sender("p", settings)
        both.start()
        push(50)
        finish(50, both)
        both.stop()
        one = world.sender("p", settings, "--provider", "apns")
        one.start()
        push(50)
        finish(100, one)
        one.stop()
        for partition, end in world.cluster.ends(world.dispatch).items():
            world.cluster.delete_records(world.dispatch, partition, end)
        both.start()
        wait_for_daemons(
            "it says so", lambda: both.has_line("nothing is sent to this provider, and the others go on", "provider=fcm"), [both]
        )
        push(50)
        finish(150, both)
        expect("ready", both.is_ready, False)
        if 'carillon_delivery_stopped{platform="fcm"} 1' not in both.page("/metrics"):
            raise Failure(both.page("/metrics"))
        both.stop()
        alone = world.sender("p", settings, "--provider", "fcm")
        alone.start()
        alone.expect_exit(EXIT_CONFIGURATION, "pushes were lost to retention")
    finally:
        stand_in.end()
        world.kill_daemons()


@scenario("transactions that are aborted cost a push nothing: one outcome each, and each is accepted once", background=True)
def aborted(harness):
    debug_build = harness.require_debug_build()
    world = DeliveryWorld(harness, "aborted", harness.cluster(), partitions=3)
    world.create_topics()
    stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed)
    try:
        sender = by_debug_build(debug_build, world.sender("p", world.settings("p") | stand_in.settings()))
        faults = ("abort@before-commit", "abort@after-send-offsets")
        sender.variables = {"CARILLON_FAULT": ",".join(f"{each}:1/6" for each in faults)}
        sender.start()
        made, rounds = Pushes(harness.seed, 100), 0
        # Until both have happened: which transaction is aborted is known, but not how many there are.
        while rounds < 5 or rounds < 50 and not all(sender.has_line(f"fault: {each}") for each in faults):
            rounds += 1
            world.cluster.produce(world.dispatch, [made.record(each, now_ms(), now_ms() + 600_000) for each in made.targets])
            wait_for_daemons("half of them have ended", lambda: len(outcomes(world)[0]) > 100 * rounds - 50, [sender])
        count = 100 * rounds
        wait_for_daemons("they have ended", lambda: len(outcomes(world)[0]) == count, [sender])
        for each in faults:
            sender.expect_line(f"fault: {each}")
        sender.stop(seconds=45)
        stand_in.end()
        accepted = collections.Counter(each.message for each in read_requests(stand_in.log) if each.is_accepted)
        expect("pushes, and how often the provider took each", (len(accepted), set(accepted.values())), (count, {1}))
        expect_one_outcome(world, world.dispatch)
    finally:
        stand_in.end()
        world.kill_daemons()


@scenario(
    "a clock that is two hours off when a process starts decides nothing: valid pushes are sent, expired ones are not",
    background=True,
)
def wrong_clock(harness):
    # Only a debug build can be given a wrong time.
    debug_build = harness.require_debug_build()
    stand_ins, cases = [], []

    def start(name, seconds, pushes, lifetime):
        world = DeliveryWorld(harness, f"clock-{name}", harness.cluster(), partitions=2)
        world.create_topics()
        clock = world.folder / "clock"
        clock.write_text(str(seconds))
        stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed)
        stand_ins.append(stand_in)
        sender = by_debug_build(debug_build, world.sender("p", world.settings("p") | stand_in.settings()))
        sender.variables = {"CARILLON_FAULT_CLOCK": str(clock)}
        made = Pushes(harness.seed, pushes)
        world.cluster.produce(world.dispatch, [made.record(each, now_ms(), now_ms() + lifetime) for each in made.targets])
        cases.append((world, clock, stand_in, sender.start(), seconds))

    try:
        start("ahead", 7_200, 20, 3_600_000)
        start("behind", -7_200, 10, -1_000)
        for world, clock, _, sender, seconds in cases:
            wait_for_daemons("it says so", lambda: sender.has_line("the clock is ", "the broker's: not ready"), [sender])
            expect("ready", sender.is_ready, False)
            expect("outcomes while the clock is wrong", outcomes(world)[0], [])
            clock.write_text("0")
        for world, _, stand_in, sender, seconds in cases:
            expected = {"accepted": 20} if seconds > 0 else {"expired": 10}
            count = sum(expected.values())
            wait_for_daemons("they have ended", lambda: len(outcomes(world)[0]) == count, [sender])
            expect("outcomes", dict(collections.Counter(each["outcome"] for each in outcomes(world)[0])), expected)
            wait_for_daemons("it is ready", lambda: sender.is_ready, [sender])
            sender.expect_line("the wall clock was set by", "it is followed")
            sender.stop()
            stand_in.end()
            expect("requests", len([*read_requests(stand_in.log)]), expected.get("accepted", 0))
    finally:
        for each in stand_ins:
            each.end()
        for world, *_ in cases:
            world.kill_daemons()


if __name__ == "__main__":
    sys.exit(main("deliver-operations", __doc__, globals()))
