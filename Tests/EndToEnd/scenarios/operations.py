"""What an operator meets: slots in use, stopped processes, wrong log-ins, missing topics, restarts; each with its exit code."""

import concurrent.futures
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from generator.inputs import DAY_MS, Input, compact, event_about, iso, subscription, subscription_key
from harness.brokers import free_port
from harness.cluster import Cluster
from harness.daemon import EXIT_CONFIGURATION, EXIT_DEFECT, EXIT_IN_USE, EXIT_LOGIN, EXIT_USAGE, wait_for_daemons
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, now_ms, wait_for
from harness.world import check
from model.partitions import murmur2_partition

PASSWORD_WRONG = "not-the-password-4711"


@scenario("a second process of an instance that runs ends at once with 3")
def same_instance(harness):
    world = harness.make_world("same-instance").create_topics()
    first = world.started()
    began = time.monotonic()
    second = world.daemon("a-again", world.settings("a")).start()
    second.expect_exit(EXIT_IN_USE, "instance.id", seconds=10)
    # It waits for nothing: whatever does takes 30 s.
    if time.monotonic() - began > 15:
        raise Failure("it took more than 15 s")
    first.expect_running()
    first.stop()


@scenario("of two processes with one slot the older one ends with 3, and the younger one continues")
def one_slot(harness):
    world = harness.make_world("one-slot").create_topics()
    world.produce(500)
    older = world.started()
    younger = world.daemon("a-elsewhere", world.settings("a", state_dir=world.folder / "elsewhere")).start()
    older.expect_exit(EXIT_IN_USE, "slot", seconds=30)
    world.produce(500)
    world.wait_until_done()
    younger.stop()
    check(world.verify())


# Says which locks OpenSSL frees in the thread that has begun to exit, as its handler there does. Another thread may free those of a
# client that it ends.
LATE_CLEANUP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static int exits;
static pthread_t exiting;
void exit(int code) {
    exiting = pthread_self();
    exits = 1;
    write(2, "exits\\n", 6);
    ((void (*)(int))dlsym(RTLD_NEXT, "exit"))(code);
    __builtin_unreachable();
}
int pthread_rwlock_destroy(pthread_rwlock_t *lock) {
    Dl_info from;
    int ends = exits && pthread_equal(exiting, pthread_self());
    if (ends && dladdr(__builtin_return_address(0), &from) && strstr(from.dli_fname, "libcrypto"))
        write(2, "OpenSSL frees a lock\\n", 21);
    return ((int (*)(pthread_rwlock_t *))dlsym(RTLD_NEXT, "pthread_rwlock_destroy"))(lock);
}
"""


@scenario("at the exit OpenSSL frees nothing that the end of a thread may still use", background=True)
def exit_with_tls(harness):
    world = harness.make_world("exit-with-tls")
    library = world.folder / "late_cleanup.so"
    compiler = ["cc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", library, "-ldl"]
    subprocess.run(compiler, input=LATE_CLEANUP, text=True, check=True)
    connection = {"kafka.bootstrap.servers": f"127.0.0.1:{free_port()}", "kafka.security.protocol": "ssl"}
    daemon = world.daemon("a", world.settings("a") | connection)
    daemon.variables = {"LD_PRELOAD": str(library)}
    daemon.start()
    wait_for_daemons("it waits for its broker", lambda: daemon.has_line("ssl://", "waiting"), [daemon])
    daemon.stop()
    daemon.expect_line("exits")
    if daemon.has_line("OpenSSL frees a lock"):
        raise Failure(f"OpenSSL cleans up while threads end:\n{daemon.last_lines()}")


@scenario("a process that was stopped for longer than its transaction may last recovers by itself")
def frozen(harness):
    stand_still(harness, "frozen", session_timeout="6s", transaction_timeout="10s", shutdown_timeout="10s")


@scenario("so does one whose transaction was aborted while it was still a member of the group")
def fenced_by_itself(harness):
    stand_still(harness, "fenced-by-itself", session_timeout="60s", transaction_timeout="5s", shutdown_timeout="5s")


def stand_still(harness, name, **settings):
    """SIGSTOP under load until the broker has aborted the open transaction and, where it is short, the session has expired."""
    world = harness.make_world(name).create_topics()
    outputs = [world.topics[topic] for topic in ("dispatch", "dead-letters", "journal")]
    daemon = world.started(commit_interval="1s", **settings)
    # Transactions of a second under steady load: nearly always one is open.
    halted = threading.Event()

    def load():
        while not halted.is_set():
            world.produce(50)
            halted.wait(0.05)

    loader = threading.Thread(target=load)
    loader.start()
    try:
        wait_for_daemons("it has committed under load", lambda: sum(world.committed.values()) > 200, [daemon])
        daemon.signal(signal.SIGSTOP)
        if settings["session_timeout"] == "6s":
            wait_for("the group gave the frozen member up", lambda: not world.cluster.members(world.name), 30)
        wait_for(
            "the broker aborted its transaction",
            lambda: all(world.cluster.ends(topic) == world.cluster.ends(topic, uncommitted=True) for topic in outputs),
            60,
        )
        daemon.signal(signal.SIGCONT)
        before = sum(world.committed.values())
        wait_for_daemons("it commits again", lambda: sum(world.committed.values()) > before, [daemon], 60)
    finally:
        daemon.signal(signal.SIGCONT)
        halted.set()
        loader.join()
    world.wait_until_done(90)
    daemon.stop()
    check(world.verify())


@scenario("at its first start a group needs --from where there are events, and the message names the partitions")
def no_start(harness):
    world = harness.make_world("no-start").create_topics()
    world.produce(100)
    daemon = world.daemon("a", start_at=None).start()
    daemon.expect_exit(EXIT_CONFIGURATION, world.topics["events"], "--from", seconds=30)
    if world.committed:
        raise Failure(f"it committed offsets all the same: {world.committed}")


@scenario("an empty topic needs no --from: every answer would mean the same, and it is committed before the first event")
def empty_start(harness):
    world = harness.make_world("empty-start").create_topics()
    daemon = world.daemon("a", start_at=None).start()
    wait_for_daemons("every partition has an offset", lambda: len(world.committed) == world.partitions, [daemon], 60)
    if set(world.committed.values()) != {0}:
        raise Failure(f"it began at {world.committed}")
    world.produce(100)
    world.wait_until_done()
    daemon.stop()
    check(world.verify())


@scenario("a partition without events keeps its offset over a restart; SIGTERM under load drains in time with 0")
def quiet_partition(harness):
    world = harness.make_world("quiet").create_topics()
    world.produce(100, partition=0)
    world.produce(100, partition=1)
    daemon = world.started(start_at="latest")
    starts = world.committed
    if starts != {0: 100, 1: 100}:
        raise Failure(f"--from latest started at {starts}")
    world.produce(2000, partition=0)
    daemon.stop()
    if world.committed[1] != 100:
        raise Failure(f"partition 1 had no events and stands at {world.committed[1]}")
    # While no process runs, the quiet partition gets events; without --from they must not be skipped.
    world.produce(50, partition=1)
    again = world.daemon("a", start_at=None).start()
    world.wait_until_done()
    again.stop()
    check(world.verify(starts))


@scenario("a changed partition count of the events' topic ends it with 78, and `offsets set` is the way out")
def partition_count(harness):
    world = harness.make_world("partitions").create_topics()
    world.produce(100)
    daemon = world.started(session_timeout="6s")
    world.wait_until_done()
    daemon.stop()
    world.cluster.add_partitions(world.topics["events"], 3)
    again = world.daemon("a", start_at="earliest").start()
    again.expect_exit(EXIT_CONFIGURATION, world.topics["events"], "2 partitions", "3", seconds=30)
    harness.command("offsets", "set", "--accept-partitions", settings=world.settings("a"))
    world.produce(100)
    world.daemon("a", start_at=None).start()
    world.wait_until_done()
    check(world.verify(is_set_by_hand=True))


@scenario("`topics create` creates what is missing, and `topics check` finds what differs")
def topics(harness):
    world = harness.make_world("topics")
    settings, size = world.settings("a"), ("--partitions", "2", "--replication-factor", "1")
    harness.command("topics", "check", *size, settings=settings, expected=1)
    harness.command("topics", "create", *size, "--dry-run", settings=settings)
    if world.cluster.partitions(world.topics["events"]):
        raise Failure("--dry-run made topics")
    harness.command("topics", "create", *size, settings=settings)
    wait_for("the topics are there", lambda: all(world.cluster.partitions(name) for name in world.topics.values()), 30)
    harness.command("topics", "create", *size, settings=settings)
    harness.command("topics", "check", *size, settings=settings)
    refused = {
        (topic, codec): [error and error.name() for error in drop_bomb(world, world.topics[topic], 0, 1, codec, 20_000_000)]
        for topic in ("events", "subscriptions")
        for codec in ("gzip", "lz4", "snappy", "zstd")
    }
    expect("bombs that the broker measures", {each: ["MSG_SIZE_TOO_LARGE"] for each in refused}, refused)
    world.cluster.configure(world.topics["events"], {"compression.type": "lz4"})
    output = harness.command("topics", "check", *size, settings=settings)
    if f"note: {world.topics['events']}: compression.type is lz4, not uncompressed" not in output:
        raise Failure(f"no word of compression.type: {output}")
    world.cluster.configure(world.topics["subscriptions"], {"cleanup.policy": "delete"})
    output = harness.command("topics", "check", *size, settings=settings, expected=1)
    if world.topics["subscriptions"] not in output or "cleanup.policy" not in output:
        raise Failure(f"no word of cleanup.policy of {world.topics['subscriptions']}: {output}")


@scenario("an offset that the log no longer has ends it with 78, and the message counts what is lost")
def out_of_range(harness):
    world = harness.make_world("out-of-range").create_topics()
    world.produce(100, partition=0)
    daemon = world.started()
    world.wait_until_done()
    daemon.stop()
    world.produce(100, partition=0)
    world.cluster.delete_records(world.topics["events"], 0, 170)
    again = world.daemon("a", start_at=None).start()
    again.expect_exit(EXIT_CONFIGURATION, "out of range", "100", "170", "70", seconds=30)


def world_with_small_dead_letters(harness, name, limit):
    world = harness.make_world(name).create_topics()
    world.cluster.configure(world.topics["dead-letters"], {"max.message.bytes": str(limit)})
    world.produce(20, partition=0)
    value = random.Random(harness.seed).randbytes(300_000)
    world.cluster.produce(world.topics["events"], [Input(b"large", value, (("trace", b"t1"),))], 0)
    world.produce(20, partition=0)
    return world, value


@scenario("a dead letter that its topic does not take is cut to 64 KiB, and its neighbours are sent")
def cut_dead_letter(harness):
    world, value = world_with_small_dead_letters(harness, "cut-dead-letter", 100_000)
    daemon = world.started()
    world.wait_until_done()
    daemon.stop()
    letters = [each for each in world.cluster.read(world.topics["dead-letters"]) if each.key == b"large"]
    if len(letters) != 1:
        raise Failure(f"{len(letters)} dead letters of the large record, expected 1")
    headers = dict(letters[0].headers)
    if headers.get("x-truncated") != b"300000" or letters[0].value != value[:65536] or headers.get("trace") != b"t1":
        raise Failure(f"the dead letter is not the first 64 KiB of the record: {headers}")
    if len(world.cluster.read(world.topics["dispatch"])) < 20:
        raise Failure("the neighbours of the large record were not sent")


@scenario("a record that no topic takes, not even cut, ends it with 70 and is named")
def nowhere(harness):
    world, _ = world_with_small_dead_letters(harness, "nowhere", 20_000)
    daemon = world.daemon("a").start()
    daemon.expect_exit(EXIT_DEFECT, "partition 0", "offset 20", seconds=60)


@scenario("an event for 100,000 devices of one place is sent to all of them, and two more after it")
def crowd(harness):
    world = harness.make_world("crowd").create_topics()
    file = world.folder / "subscriptions.jsonl"
    with open(file, "w") as out:
        for number in range(100_000):
            out.write(
                json.dumps({"audience": "place/crowd", "token": f"crowd-token-{number}", "platform": "fcm", "app": "a"}) + "\n"
            )
    settings = world.settings("a")
    harness.command("subscriptions", "import", str(file), settings={name: settings[name] for name in settings if name != "workers"})
    order = {"id": "o1", "place_id": "crowd", "status": "pending"}
    for number in range(3):
        world.cluster.produce(world.topics["events"], [event_about(order, f"crowd-{number}")], 0)
    daemon = world.started()
    world.wait_until_done(120)
    daemon.stop()
    pushes = world.cluster.read(world.topics["dispatch"])
    found = {(dict(each.headers)["source"], each.key) for each in pushes}
    if len(pushes) != 300_000 or len(found) != 300_000:
        raise Failure(f"{len(pushes)} pushes, {len(found)} different ones, expected 300,000")


@scenario("a missing topic ends it after about 30 s with 78, and the message names the topic", background=True)
def missing_topic(harness):
    world = harness.make_world("missing")
    world.cluster.create_topics({name: (2, {}) for topic, name in world.topics.items() if topic != "dispatch"})
    began = time.monotonic()
    daemon = world.daemon("a").start()
    daemon.expect_exit(EXIT_CONFIGURATION, world.topics["dispatch"], seconds=90)
    if time.monotonic() - began < 25:
        raise Failure("it did not give the topic 30 s to come")


@scenario("it starts before its broker does, waits and says so; a wrong password ends it after about 30 s with 77", background=True)
def log_in(harness):
    with harness.brokers("--sasl") as brokers:
        bootstrap = brokers.start()
        client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "carillon"}
        cluster = Cluster(bootstrap, **client, **{"sasl.password": "carillon-secret"})
        world = harness.make_world("log-in", cluster).create_topics()
        configuration = {f"kafka.{name}": value for name, value in client.items()}

        wrong = world.daemon("wrong", world.settings("wrong") | configuration | {"kafka.sasl.password": PASSWORD_WRONG}).start()
        began = time.monotonic()
        wrong.expect_exit(EXIT_LOGIN, "authentication", seconds=90)
        if time.monotonic() - began < 25:
            raise Failure("it did not give the login 30 s")
        if PASSWORD_WRONG in wrong.log():
            raise Failure("the password is in the log")

        brokers.kill()
        early = world.daemon("a", world.settings("a") | configuration | {"kafka.sasl.password": "carillon-secret"}).start()
        wait_for_daemons("a line says that the broker is waited for", lambda: early.has_line("wait"), [early], 30)
        brokers.start()
        wait_for_daemons("it works as soon as the broker is there", lambda: len(world.committed) == 2, [early], 60)
        world.produce(100)
        world.wait_until_done()
        early.stop()
        check(world.verify())


@scenario("a broker that is killed twice under load and comes back loses nothing and repeats nothing", background=True)
def broker_killed(harness):
    with harness.brokers() as brokers:
        world = harness.make_world("broker-killed", Cluster(brokers.start())).create_topics()
        # Small transactions, so that one is open whenever the broker dies.
        settings = world.settings("a") | {"commit.max-events": 20}
        daemon = world.daemon("a", settings).start()
        for _ in range(2):
            before = sum(world.committed.values())
            world.produce(4_000)
            wait_for_daemons("it commits", lambda: sum(world.committed.values()) > before + 100, [daemon])
            brokers.kill()
            brokers.start()
        world.wait_until_done(120)
        daemon.stop()
        check(world.verify())


@scenario("a broker that is away during an abort is waited for, for longer than a transaction call may take", background=True)
def away_during_abort(harness):
    debug_build = harness.require_debug_build()
    with harness.brokers() as brokers:
        world = harness.make_world("abort", Cluster(brokers.start())).create_topics()
        world.produce(1_000)
        settings = world.settings("a", transaction_timeout="5s", shutdown_timeout="5s")
        daemon = world.daemon("a", settings, binary=debug_build)
        # It is stopped once with a transaction open, and finds the broker gone when it then aborts.
        daemon.variables = {"CARILLON_FAULT": "stop@after-produce:1/1,abort@before-commit:1/1"}
        daemon.start()
        wait_for_daemons("a transaction is open", lambda: daemon.is_stopped, [daemon])
        brokers.kill()
        daemon.signal(signal.SIGCONT)
        wait_for_daemons("an abort got no answer", lambda: daemon.has_line("recreates its producer"), [daemon])
        # The watchdog of transaction calls ends it after twice the transaction's time-out and 20 s.
        began = time.monotonic()
        wait_for_daemons("40 s have passed", lambda: time.monotonic() - began > 40, [daemon])
        aborts = daemon.log().count("fault: abort")
        brokers.start()
        wait_for_daemons("it works again", lambda: daemon.log().count("fault: abort") > aborts, [daemon])
        daemon.stop()


# Of each class that a terminal must not get: C0, DELETE, C1, separators of lines, controls of direction.
CONTROLS = "\x1b]0;forged\x07\x1b[2J\r\n\x7f\x9b31m\u2028\u2029\u061c\u200e\u202e\u2066"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]")
TOKEN = "controls-device-token"


def strings_within(value, text):
    """The value with the text at the end of each string in it."""
    if isinstance(value, dict):
        return {name: strings_within(each, text) for name, each in value.items()}
    if isinstance(value, list):
        return [strings_within(each, text) for each in value]
    return value + text if isinstance(value, str) else value


def make_hostile_topics(world, settings):
    """Records of every topic that have control characters in each text where a reader takes them, and in all others besides."""
    odd, now = CONTROLS, now_ms()
    order = {"id": "4711" + odd, "order_number": "A" + odd, "place_id": "p" + odd, "status": "pending" + odd}
    order["shipping_info"] = {"slot": {"date": iso(now + DAY_MS)[:10], "start_time": "14:00", "end_time": "16:00"}}
    events = [event_about(order, "e1" + odd), event_about(order | {"status": "picked"}, "e2", "ORDER_STATUS_CHANGED")]
    events += [
        event_about(order | {"id": "due" + odd, "status": "pending"}, "e3"),
        event_about(order, "e4", "ORDER_" + odd),
        Input(("k" + odd).encode(), ("{" + odd).encode()),
    ]
    events += [each._replace(headers=(("h" + odd.replace("\0", ""), odd.encode()),)) for each in events]
    title = {"title": "t" + odd, "body": "b" + odd, "data": {"type": "T" + odd, "a" + odd: odd}}
    request = {
        "request_id": "r1" + odd,
        "audience": "user/u" + odd.translate(dict.fromkeys(range(32))).replace("\x7f", ""),
        "app": title,
    }
    requests = [request, request | {"audience": "user/17", "request_id": "r2" + odd}, request | {"audience": "user/" + odd}, title]
    text = {"language": "en", "title": "t" + odd, "msg": "m" + odd}
    news = {"actiontype": "display", "notificationtype": "general", "notificationid": "1235", "expiry": "1h", "fields": [text]}
    news |= {"published_at": now, "expiry": f"{3_600_000}millis"}
    broadcasts = [news, news | {"notificationid": "7" + odd}, news | {"notificationtype": odd}, strings_within(news, odd)]
    high = odd[odd.index("\x9b") :]
    subscribed = {"token": TOKEN, "platform": "fcm", "locale": "en", "environment": "production"}
    audiences = ("place/p1", "place/p" + high, "user/17", request["audience"], "channel/General", "channel/General" + high)
    devices = [(each, subscribed | {"app": "a\u202e"}) for each in audiences]
    devices += [("place/p2", subscribed | {"app": "a" + odd}), ("place/x" + odd, subscribed)]
    devices = [Input(subscription_key(each, TOKEN), compact({"audience": each} | value)) for each, value in devices]
    topics = {name[6:]: value for name, value in settings.items() if name.startswith("topic.")}
    put = world.cluster.produce
    put(topics["subscriptions"], devices)
    put(topics["events"], events + [event_about(order | {"id": "plain", "place_id": "p1"}, "e9" + odd)], 0)
    put(topics["requests"], [Input(b"user/17", compact(each)) for each in requests])
    put(topics["broadcasts"], [Input(each["notificationid"].encode(), compact(each)) for each in broadcasts])
    return topics


def copy_hostile(world, topics):
    """What the pipeline wrote, written once more with control characters at the end of each text: as whoever may write to its
    topics could do it."""
    for role in ("dispatch", "dead-letters", "journal"):
        copies = []
        for each in world.cluster.read(topics[role]):
            headers = tuple((name, value + CONTROLS.encode()) for name, value in each.headers)
            try:
                value = compact(strings_within(json.loads(each.value), CONTROLS))
            except ValueError:
                value = each.value
            copies += [Input(each.key, value, headers), Input(each.key, value, each.headers)]
        if not copies:
            raise Failure(f"nothing was written to {topics[role]}")
        world.cluster.produce(topics[role], copies)
    outcome = {
        "outcome": "refused",
        "topic": topics["dispatch"],
        "partition": 0,
        "offset": 0,
        "message_id": "m",
        "device": "0" * 64,
    }
    outcome |= {"platform": "fcm", "app": "a" + CONTROLS, "status": 400, "reason": "R" + CONTROLS}
    outcome |= {"credential": "c" + CONTROLS, "attempts": 1, "provider_id": "p" + CONTROLS}
    world.cluster.create_topics({topics["deliveries"]: (1, {})})
    world.cluster.produce(
        topics["deliveries"], [Input(b"k", compact(each)) for each in (outcome, strings_within(outcome, CONTROLS))]
    )


@scenario("no command prints a control character, whatever is in the texts of any topic; its JSON has it as an escape")
def control_characters(harness):
    world = harness.make_world("control-characters")
    settings = world.settings("a") | {f"topic.{each}": f"{world.name}.{each}" for each in ("requests", "broadcasts", "deliveries")}
    harness.command("topics", "create", "--partitions", "1", "--replication-factor", "1", settings=settings)
    topics = make_hostile_topics(world, settings)
    daemon = world.daemon("a", settings).start()
    ends = world.cluster.ends
    for name in (topics["events"], topics["requests"]):
        wait_for_daemons("all is processed", lambda name=name: world.cluster.committed(world.name, name) == ends(name), [daemon])
    daemon.stop()
    copy_hostile(world, topics)
    token, odd = world.folder / "token", world.folder / "lines"
    token.write_text(TOKEN)
    odd.write_text(
        "".join(compact({"audience": CONTROLS, "token": CONTROLS, CONTROLS: CONTROLS}).decode() + "\n" for _ in range(2))
    )
    (world.folder / "events").write_text(
        compact(
            {"event_id": "1", "event_type": "ORDER_CREATED", "order": {"id": "1", "place_id": "p", "order_number": CONTROLS}}
        ).decode()
        + "\n{"
        + json.dumps(CONTROLS, ensure_ascii=False)
    )
    (world.folder / "devices").write_bytes(subscription("p", TOKEN).value)
    words = [
        each + more
        for each in (
            ("schedule",),
            ("explain", "--partition", "0", "--offsets", "0.."),
            ("subscriptions", "list"),
            ("broadcast", "list", "--all"),
            ("broadcast", "status", "7" + CONTROLS),
            ("deliveries", "summary"),
        )
        for more in ((), ("--json",))
    ]
    has_texts = {*words}
    words += [
        ("explain", "--order", "4711" + CONTROLS),
        ("explain", "--device-token-file", str(token), "--place", "p1"),
        ("explain", "--broadcast", "1235", "--device-token-file", str(token)),
        ("subscriptions", "mend", "--dry-run"),
        ("subscriptions", "import", str(odd)),
        ("offsets", "show"),
        ("replay", "plan"),
        ("replay", "diff"),
        ("replay", "dead-letters", "--dry-run"),
        ("replay", "redrive", "--dry-run"),
        ("replay", "write", "--output", "-", "--explain"),
        ("render", "--explain", "--subscriptions", str(world.folder / "devices"), str(world.folder / "events")),
        ("render", "--subscriptions", str(odd), str(odd)),
        ("topics", "check"),
        ("notify", "--audience", "user/17", "--app-type", "T", "--title", CONTROLS, "--body", "b", "--dry-run"),
    ]
    has_texts |= {each for each in words if each[:2] in (("replay", "write"), ("render", "--explain"))}

    def run(each):
        code, output, errors = harness.run(*each, settings=settings, input=b"")
        return each, code, output, errors

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, words))
    for each, code, output, errors in results:
        name = " ".join(each).encode("unicode_escape").decode()
        if found := CONTROL.search(output + errors):
            raise Failure(f"carillon {name} prints U+{ord(found.group()):04X}: {output!r}{errors!r}")
        if code not in (0, 1, 64, 78):
            raise Failure(f"carillon {name} ended with {code}: {errors}")
        if each in has_texts and "\\u{9b}" not in output and "\\u009b" not in output:
            raise Failure(f"carillon {name} shows no text of a record: {output!r}{errors!r}")
    if any("\x1b" in line or "\x9b" in line for line in daemon.log().splitlines()):
        raise Failure("the log has a control character")


@scenario("an unreachable broker is waited for, and the line says so; SIGTERM then ends it with 0", background=True)
def unreachable(harness):
    world = harness.make_world("unreachable")
    daemon = world.daemon("a", world.settings("a") | {"kafka.bootstrap.servers": f"127.0.0.1:{free_port()}"}).start()
    # Longer than the 30 s after which a mistake ends it.
    began = time.monotonic()
    wait_for_daemons("a line says that the broker is waited for", lambda: daemon.has_line("wait"), [daemon], 30)
    wait_for_daemons("35 s have passed", lambda: time.monotonic() - began > 35, [daemon], 60)
    lines = [line for line in daemon.log().splitlines() if "wait" in line.lower()]
    if len(lines) > 8:
        raise Failure(f"{len(lines)} lines in 35 s, one in 10 s is enough:\n{daemon.last_lines()}")
    daemon.stop()


class ServiceManager:
    """systemd's end of sd_notify(3): what a daemon tells it, a line each."""

    def __init__(self, world):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"\0carillon-{world.name}")
        self.socket.setblocking(False)
        self.lines = []
        self.variables = {"NOTIFY_SOCKET": f"@carillon-{world.name}", "WATCHDOG_USEC": "1000000"}

    def hears(self, start):
        """The next line that begins so, None where none has come; the lines up to it are forgotten."""
        try:
            while True:
                self.lines += self.socket.recv(8192).decode().split("\n")
        except BlockingIOError:
            pass
        for number, line in enumerate(self.lines):
            if line.startswith(start):
                del self.lines[: number + 1]
                return line
        return None


@scenario("a service manager hears that a daemon is up while it waits for a broker, is alive unless it is frozen, and ends")
def service_manager(harness):
    world = harness.make_world("service-manager").create_topics()
    manager = ServiceManager(world)

    def hears(daemon, start):
        return wait_for_daemons(f"it says {start}", lambda: manager.hears(start), [daemon], 30)

    waiting = world.daemon("waiting", world.settings("waiting") | {"kafka.bootstrap.servers": f"127.0.0.1:{free_port()}"})
    daemon = world.daemon("a", world.settings("a"))
    for each in (waiting, daemon):
        each.variables |= manager.variables
    waiting.start()
    for line in ("READY=1", "STATUS=not ready: ", "WATCHDOG=1", "STATUS=not ready: the broker is unreachable", "WATCHDOG=1"):
        hears(waiting, line)
    waiting.stop()
    expect("it says that it stops", manager.hears("STOPPING=1"), "STOPPING=1")
    daemon.start()
    hears(daemon, "READY=1")
    # After ten seconds it says what it does, and may only then be ready.
    said = hears(daemon, ("STATUS=ready", "STATUS=0 events/s"))
    hears(daemon, "WATCHDOG=1")
    if said == "STATUS=ready":
        hears(daemon, "STATUS=0 events/s")
    daemon.signal(signal.SIGSTOP)
    wait_for("it is stopped", lambda: daemon.is_stopped, 10)
    manager.hears("nothing; what came before is forgotten")
    manager.lines.clear()
    began = time.monotonic()
    wait_for("three times the watchdog's time has passed", lambda: time.monotonic() - began > 3, 10)
    expect("a frozen process is alive", manager.hears("WATCHDOG=1"), None)
    daemon.signal(signal.SIGCONT)
    hears(daemon, "WATCHDOG=1")
    daemon.stop()
    expect("it says that it stops", manager.hears("STOPPING=1"), "STOPPING=1")
    longest = "EXTEND_TIMEOUT_USEC=30000000"
    expect("and that it may take as long as its settings allow", manager.hears(longest), longest)


def drop_bomb(world, topic, partition, records, codec="zstd", size=120_000_000):
    """One batch of a few KB that becomes 120 MB, more than a consumer decompresses: what the broker says of each record."""
    # The flush ends the linger: a shorter one may end between two records, and their batches could be decompressed.
    settings = {"compression.type": codec, "message.max.bytes": 10**9, "batch.size": 10**9, "linger.ms": 60_000}
    producer, said = world.cluster.producer(**settings), []
    for _ in range(records):
        producer.produce(
            topic, key=b"bomb", value=b"a" * (size // records), partition=partition, on_delivery=lambda error, _: said.append(error)
        )
    if producer.flush(60):
        raise Failure(f"no word of the bomb in {topic}")
    return said


@scenario("batches that cannot be decompressed are passed, and every event and subscription before and behind them counts once")
def bombs(harness):
    world = harness.make_world("bombs").create_topics()
    events, subscriptions = world.topics["events"], world.topics["subscriptions"]
    first, second = (subscription("bombed", token) for token in ("made-up-1", "made-up-2"))
    world.cluster.produce(subscriptions, [first])
    drop_bomb(world, subscriptions, murmur2_partition(second.key, 4), 2)
    world.cluster.produce(subscriptions, [second])
    for number, records in enumerate((1, 3, 0)):
        event = event_about({"id": f"order-{number}", "order_number": "1", "place_id": "bombed"}, f"event-{number}")
        world.cluster.produce(events, [event], partition=0)
        if records:
            drop_bomb(world, events, 0, records)
    daemon = world.started()
    world.wait_until_done()
    found = sorted(dict(each.headers)["source"].decode() for each in world.cluster.read(world.topics["dispatch"]))
    expect("the pushes' events", found, [f"{events}/0/{offset}" for offset in (0, 0, 2, 2, 6, 6)])
    letters = [dict(each.headers) for each in world.cluster.read(world.topics["dead-letters"])]
    expect("the codes", [each["x-error-code"] for each in letters], [b"unreadable_batch"] * 2)
    expect("the offsets", sorted(each["__connect.errors.offset"] for each in letters), [b"1", b"5"])
    daemon.expect_line(f"{subscriptions}/", "cannot be read and are passed")
    daemon.expect_line(f"{events}/0: offsets 3 to 5 cannot be read and are passed")
    daemon.stop()
    harness.command("replay", "diff", settings=world.settings("a"))
    partition = murmur2_partition(second.key, 4)
    if f"note: {subscriptions}/{partition}: offsets " not in "".join(
        harness.run("topics", "check", settings=world.settings("a"))[1:]
    ):
        raise Failure("`topics check` says nothing of the subscriptions that cannot be read")
    daemon.start()
    lost = f"the subscriptions table may lack a change: a batch could not be read in {subscriptions}/{partition}"
    wait_for_daemons("the next start says so as well", lambda: daemon.has_line(lost), [daemon])
    daemon.stop()


@scenario("a flag's bad value ends it with 64, with every problem at once")
def wrong_flags(harness):
    code, _, errors = harness.run("run", settings={"workers": "many", "commit.interval": "soon", "kafka.group.id": "mine"})
    if code != EXIT_USAGE:
        raise Failure(f"it ended with {code}: {errors}")
    for word in ("workers", "commit.interval", "group.id"):
        if word not in errors:
            raise Failure(f"no word of {word}: {errors}")


if __name__ == "__main__":
    sys.exit(main("operations", __doc__, globals()))
