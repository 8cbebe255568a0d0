"""A broker with TLS, log-ins and deny-by-default: the documented ACLs are enough, none is too many, and no secret is shown."""

import collections
import contextlib
import hashlib
import json
import pathlib
import re
import signal
import sys
import time

from generator.inputs import Input, iso, subscription
from generator.subscriptions import well_formed
from harness.brokers import free_port
from harness.daemon import EXIT_CONFIGURATION, EXIT_LOGIN, EXIT_NOT_IN_TIME, flags, wait_for_daemons
from harness.guarded import Guarded, TLSListener, certificate, grants_in, openssl
from harness.http_api import APIProcess, create_key, wait_until_ready
from harness.project import ROOT
from harness.reaping import answered, outcome
from harness.replaying import documents
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import Failure, expect, now_ms, wait_for
from harness.world import check
from scenarios.roles import Process

VERIFY = "certificate verify failed"
KEY_PASSWORD = "key-password-0815"
PAGE = ROOT / "docs/topics.md"
# What a crash prints where a host asks for all of it.
BACKTRACE = {"SWIFT_BACKTRACE": "enable=yes,color=no,interactive=no"}


def requests_of(world):
    """The topic of its requests, which the world's own processes do not read."""
    return f"{world.name}.requests"


def documented(purpose, world, group=None):
    """The page's grants for a purpose, which is the comment above them, with this world's names."""
    block = re.search(r"## ACLs\n.*?```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)[1].replace("\\\n", " ")
    lines = block[block.index(f"# {purpose}\n") :].split("\n\n")[0].splitlines()[1:]

    def rename(resource, name):
        if resource == "topic":
            own = {"requests": requests_of(world)}
            own |= {
                f"{name}.retry.": f"{world.topics['dispatch']}{name[8:]}.retry." for name in ("dispatch", "dispatch.broadcasts")
            }
            return (world.topics | own)[name.removeprefix("orders.").removeprefix("notifications.")]
        if name.startswith("carillon-replay-"):
            return name
        return name.replace("carillon", group or world.name)

    return grants_in(lines, rename)


USERS = [
    "operator",
    "writer",
    "lister",
    "asker",
    "reader",
    "redriver",
    "replayer",
    "mender",
    "sender",
    "courier",
    "carillon-run",
    "stranger",
    "shop",
    "registrar",
    "clerk",
    "teller",
    "importer",
    "reaper",
    *[f"user-{number}" for number in range(16)],
    *[f"other-{number}" for number in range(13)],
    *[f"desk-{number}" for number in range(15)],
]


@contextlib.contextmanager
def a_guarded_broker(harness):
    users = [word for user in USERS for word in ("--user", user)]
    with harness.brokers("--sasl", "--tls", "--acls", *users) as brokers:
        yield Guarded(harness, brokers)


@scenario("with the documented ACLs and no other each command works, and `run` loses and repeats nothing", background=True)
def enough(guarded):
    harness = guarded.harness
    world = harness.make_world("enough", guarded.cluster)
    settings = world.settings("a")

    guarded.grant("operator", documented("carillon topics create, topics check", world))
    operator = settings | guarded.login("operator")
    harness.command("topics", "create", "--partitions", "2", "--replication-factor", "1", settings=operator)
    harness.command("topics", "check", "--partitions", "2", "--replication-factor", "1", settings=operator)

    guarded.grant("writer", documented("carillon subscribe, subscriptions import", world))
    file = world.folder / "subscriptions.jsonl"
    file.write_bytes(b"".join(each.value + b"\n" for each in well_formed(world.subscriptions)))
    harness.command("subscriptions", "import", str(file), settings=settings | guarded.login("writer"))

    guarded.grant("mender", documented("carillon unsubscribe, subscriptions mend", world))
    if "Nothing is misplaced." not in harness.command("subscriptions", "mend", settings=settings | guarded.login("mender")):
        raise Failure("`subscriptions mend` found something misplaced")

    guarded.grant("lister", documented("carillon subscriptions list", world))
    if "place/" not in harness.command("subscriptions", "list", settings=settings | guarded.login("lister")):
        raise Failure("`subscriptions list` lists nothing")

    guarded.grant("carillon-run", documented("carillon run, offsets", world))
    runner = settings | guarded.login("carillon-run")
    world.produce(400)
    world.cluster.produce(world.topics["events"], [Input(b"4711", b"no JSON")])
    guarded.cluster.create_topics({requests_of(world): (2, {})})
    guarded.grant("asker", documented("carillon notify; with --yes it does without the subscriptions", world))
    asker = settings | guarded.login("asker") | {"topic.requests": requests_of(world)}
    harness.command("notify", "--audience", "place/42", "--app-type", "Generic", "--title", "T", "--body", "B", settings=asker)
    if sum(guarded.cluster.ends(requests_of(world)).values()) != 1:
        raise Failure("`notify` has not written its request")
    daemon = world.daemon("a", runner).start()
    world.wait_until_done(90)
    if daemon.has_line("authorization"):
        raise Failure(f"it lacks a permission:\n{daemon.last_lines()}")
    daemon.stop()
    check(world.verify())
    guarded.grant("reader", documented("carillon schedule", world))
    if " to come" not in harness.command("schedule", settings=settings | guarded.login("reader")):
        raise Failure("`schedule` tells of no timers")
    guarded.grant("replayer", documented("carillon replay plan, diff, write, explain", world))
    harness.command("replay", "diff", settings=settings | guarded.login("replayer"))
    guarded.grant("mender", documented("carillon replay dead-letters", world))
    letter = next(each for each in world.cluster.read(world.topics["dead-letters"]) if each.value == b"no JSON")
    mended = {"event_type": "ORDER_CREATED", "order": {"id": "4711", "place_id": "42"}}
    file.write_text(
        json.dumps({"topic": letter.topic, "partition": letter.partition, "offset": letter.offset, "payload": json.dumps(mended)})
    )
    harness.command(
        "replay",
        "dead-letters",
        "--repaired",
        str(file),
        "--i-understand-this-notifies-people",
        "--confirm",
        "1",
        settings=settings | guarded.login("mender"),
    )
    guarded.grant("redriver", documented("carillon replay redrive", world))
    redriver = settings | guarded.login("redriver")
    words = ("replay", "redrive", "--subscriptions", "now", "--include-sent", "--json")
    plan = json.loads(harness.command(*words, "--dry-run", settings=redriver).splitlines()[0])["plan"]
    harness.command(
        *words,
        "--i-understand-this-notifies-people",
        "--confirm",
        str(plan["devices"]),
        "--most",
        "1000000",
        "--rate",
        "100000",
        "--id",
        world.name,
        settings=redriver,
    )
    harness.command("offsets", "show", settings=runner)
    harness.command("offsets", "set", "--to", "earliest", "--resend", settings=runner)
    if set(world.committed.values()) != {0}:
        raise Failure(f"`offsets set` left the group at {world.committed}")


API_PURPOSES = (
    "carillon api",
    "carillon api, also with topic.broadcasts",
    "carillon api, also with api.events=on",
    "carillon api with topic.control, in addition",
)
ORDER = {"order": {"id": "4711", "place_id": "42"}}
EVENTS = [{"specversion": "1.0", "id": str(each), "source": "shop", "type": "ORDER_CREATED", "data": ORDER} for each in range(2)]
# What `carillon api` is asked for: the method, the path with the user's number in it, the body and its type.
ASKED = {
    "request": ("PUT", "/v1/requests/{}", {"audience": "place/42", "message": {"title": "T"}}),
    "broadcast": (
        "PUT",
        "/v1/broadcasts/{}?max_devices=1000000",
        {"actiontype": "non-display", "notificationtype": "enable-feature", "expiry": "3600000millis"},
    ),
    "status": ("GET", "/v1/broadcasts/{}"),
    "list": ("GET", "/v1/broadcasts"),
    "end": ("DELETE", "/v1/broadcasts/{}"),
    "event": ("POST", "/v1/events", ORDER | {"event_type": "ORDER_CREATED"}),
    "batch": ("POST", "/v1/events", EVENTS, {"Content-Type": "application/cloudevents-batch+json"}),
    "cancel": ("DELETE", "/v1/requests/{}"),
    "pause": ("PUT", "/v1/providers/fcm/pause", {"why": "a test"}),
}


class Desks:
    """Topics for `carillon api` with all that it can be asked for, and processes on them."""

    def __init__(self, guarded, name):
        self.guarded, self.world = guarded, guarded.harness.make_world(name, guarded.cluster)
        topics = self.world.topics
        topics |= {each: f"{self.world.name}.{each}" for each in ("requests", "broadcasts", "broadcasts.journal", "control")}
        used = set(topics) - {"dispatch", "dead-letters", "journal"}
        guarded.cluster.create_topics({topics[each]: (1 if each in ("broadcasts", "control") else 2, {}) for each in used})
        guarded.cluster.produce(topics["subscriptions"], self.world.subscriptions)
        self.key = create_key(guarded.harness, self.world.folder, "send", "broadcast", "events:write", "operate")

    def documented(self, user):
        return [grant for purpose in API_PURPOSES for grant in documented(purpose, self.world, group=user)]

    def start(self, user, has_all=True):
        """Starts `carillon api` as this user; for requests alone, unless it has all."""
        settings = self.world.settings(user) | self.guarded.login(user) | {"group.id": user, "api.wait": "10s"}
        del settings["topic.broadcasts.journal"]
        if has_all:
            settings["api.events"] = "on"
        else:
            del settings["topic.broadcasts"], settings["topic.control"]
        process = APIProcess(self.guarded.harness, self.guarded.cluster, self.world.folder, user, **settings)
        self.world.daemons.append(process)
        return process.start()

    def ask(self, process, name, code=None):
        """Asks until it is recorded or read, or until it is refused with this code, and returns the answer. On a busy machine the
        first answers may be others."""
        method, path, *rest = ASKED[name]
        path, given = path.format(process.name.rpartition("-")[2]), []

        def is_answered():
            given[:] = process.ask(self.key, method, path, *rest)
            return given[1].get("code") == code if code else given[0] < 300

        try:
            wait_for("", is_answered, 10)
        except Failure:
            raise Failure(f"{process.name}: {name}: expected {code or 'success'}: {given}\n{process.last_lines()}") from None
        return given[1]


@scenario(
    "with the documented ACLs and no other `api` does all that it can be asked for, and waits for one that is revoked",
    background=True,
)
def enough_for_api(guarded):
    desks, cluster, user = Desks(guarded, "enough-for-api"), guarded.cluster, "desk-14"
    guarded.grant(user, desks.documented(user))
    process = desks.start(user)
    wait_until_ready(process)
    told = [desks.ask(process, name) for name in ASKED]
    if process.has_line("authorization"):
        raise Failure(f"it lacks a permission:\n{process.last_lines()}")
    (revoked,) = [each for each in desks.documented(user) if each.resource == "transactional-id"]
    guarded.revoke(user, revoked)
    began = time.monotonic()
    desks.ask(process, "batch", "not-recorded")
    # At a start it would end before.
    wait_for_daemons("it waits for what was revoked", lambda: time.monotonic() > began + 33, [process])
    guarded.grant(user, [revoked])
    told.append(desks.ask(process, "batch"))
    process.stop()
    named = {place for answer in told for place in (answer.get("record"), *answer.get("positions", ())) if place}
    topics = [desks.world.topics[name] for name in ("requests", "broadcasts", "events", "control")]
    expect("what is not recorded", named - {record.source for topic in topics for record in cluster.read(topic)}, set())
    expect("topics in which something is recorded", {place.split("/")[0] for place in named}, set(topics))


# What `api` does without a permission that nothing at its start asks for: the answers, of which those without a code succeed.
WITHOUT = {
    ("Write", "requests"): {"request": "not-recorded", "broadcast": None, "event": None},
    ("Write", "broadcasts"): {"broadcast": "not-recorded", "end": "not-recorded", "request": None},
    ("Write", "control"): {"cancel": "not-recorded", "pause": "not-recorded", "request": None},
    ("Read", "subscriptions"): {"broadcast": "not-yet", "request": None},
    ("Read", "broadcasts.journal"): {"broadcast": None, "status": "not-yet", "end": None},
    ("Describe", "group"): {"list": "not-yet", "request": None},
}
# And where another permission lets it see the topic.
WITHOUT_AND_SEEN = {
    ("Write", "events"): {"event": "not-recorded", "batch": "not-recorded", "request": None},
    ("Read", "subscriptions"): WITHOUT["Read", "subscriptions"],
}


@scenario(
    "without any one of them `api` names it: it ends with 77 after 30 s, or answers 503, and needs no restart then",
    background=True,
)
def one_is_missing_from_api(guarded):
    desks, ending, answering = Desks(guarded, "desks"), [], []
    short = {topic: name for name, topic in desks.world.topics.items()}
    for is_seen, without in ((False, WITHOUT), (True, WITHOUT_AND_SEEN)):
        for number, missing in enumerate(desks.documented("")):
            kind = missing.operation, short.get(missing.name, missing.resource)
            if is_seen and kind not in without:
                continue
            user = f"desk-{len(ending) + len(answering)}"
            grants = desks.documented(user)
            missing = grants.pop(number)
            guarded.grant(user, grants + ([missing._replace(operation="Describe")] if is_seen else []))
            if kind in without:
                answering.append((desks.start(user), missing, without[kind]))
            else:
                ending.append((desks.start(user), missing, ("request", "broadcast", "batch", "cancel")))
    # Who may write to no topic at all cannot begin to.
    read, write = documented(API_PURPOSES[0], desks.world)
    user = f"desk-{len(ending) + len(answering)}"
    guarded.grant(user, [read])
    ending.append((desks.start(user, has_all=False), write, ("request",)))
    problems = []

    def wait_for_line(process, missing, *more):
        words = f"User:{process.name} needs {missing.operation} on", missing.name, "kafka-acls.sh", *more
        wait_for_daemons(f"it says that {missing} is missing", lambda: process.has_line(*words), [process], 10)

    for process, missing, answers in answering:
        try:
            wait_until_ready(process)
            for name, code in answers.items():
                desks.ask(process, name, code)
            wait_for_line(process, missing)
            if "batch" in answers:
                wait_for_line(process, missing, "batches of events")
            guarded.grant(process.name, [missing])
            for name in answers:
                desks.ask(process, name)
        except Failure as failure:
            problems.append(f"without {missing}: {failure}")
    for process, missing, _ in ending:
        try:
            words = f"User:{process.name} needs {missing.operation} on", missing.name, "kafka-acls.sh"
            process.expect_exit(EXIT_LOGIN, *words, seconds=90)
            lines = [line for line in process.log().splitlines() if line.startswith("carillon:") and "kafka-acls.sh" in line]
            guarded.grant(process.name, grants_in(lines))
            process.start()
        except Failure as failure:
            problems.append(f"without {missing}: {failure}")
    if problems:
        raise Failure("\n".join(problems))
    for process, _, names in ending:
        wait_until_ready(process)
        for name in names:
            desks.ask(process, name)


@scenario(
    "with the documented ACLs and no other a registrar decides, `api` registers devices and records receipts, the command line "
    "shows and erases, an import hears of it, and the reaper tells of dead ones; each that lacks one names it",
    background=True,
)
def registry(guarded):
    harness, cluster = guarded.harness, guarded.cluster
    world = harness.make_world("registry", cluster)
    own = ("commands", "devices", "people", "erasures", "verdicts", "control")
    world.topics |= {each: f"{world.name}.{each}" for each in (*own, "requests", "deliveries", "receipts")}
    cluster.create_topics({world.topics[each]: (1, {}) for each in (*own, "requests", "deliveries", "receipts", "subscriptions")})
    key = create_key(harness, world.folder, "devices:write", "devices:read")

    def granted(user, *purposes, without=None):
        grants = [grant for purpose in purposes for grant in documented(purpose, world, group=user)]
        left_out = [each for each in grants if (each.operation, each.name) == without]
        guarded.grant(user, [each for each in grants if each not in left_out])
        settings = world.settings(user) | guarded.login(user) | {"group.id": user, "api.wait": "10s"}
        return settings, left_out

    purposes = ("carillon run --roles registrar", "carillon run --roles registrar with topic.control, in addition")
    settings, missing = granted("registrar", *purposes, without=("Write", world.topics["verdicts"]))
    registrar = world.daemon("registrar", settings)
    registrar.arguments += ["--roles", "registrar"]
    registrar.start()
    registrar.expect_exit(EXIT_LOGIN, "User:registrar needs Write on topic", world.topics["verdicts"], "kafka-acls.sh", seconds=90)
    guarded.grant("registrar", missing)
    registrar.start()

    additions = (f"carillon api with topic.{topic}, in addition" for topic in ("commands", "control", "receipts"))
    purposes = ("carillon api", *additions)
    settings, missing = granted("clerk", *purposes, without=("Read", world.topics["people"]))
    process = APIProcess(harness, cluster, world.folder, "clerk", **settings)
    world.daemons.append(process)
    process.start()
    process.expect_exit(EXIT_LOGIN, "User:clerk needs Read on topic", world.topics["people"], "kafka-acls.sh", seconds=90)
    guarded.grant("clerk", missing)
    process.start()
    wait_until_ready(process)
    body = {"app": "com.example.shop", "person": "17", "audiences": ["place/42"]}
    body["address"] = {"kind": "installation_id", "value": "made-up-id"}
    path = "/v1/devices/installation-0001"
    wait_for("a device is registered", lambda: process.ask(key, "PUT", path, body)[0] == 200, 30)
    expect("what is known of it", process.ask(key, "GET", path)[1]["address"]["state"], "live")
    expect(
        "who is subscribed", process.ask(key, "GET", "/v1/audiences/place%2F42", headers={"Carillon-After": "0"})[1]["devices"], 1
    )
    expect("who is subscribed", len(cluster.read(world.topics["subscriptions"])), 3)
    secret = process.ask(key, "PUT", f"{path}?new_secret=1", body)[1]["secret"]
    said = {"receipts": [{"message_id": "msg-1", "kind": "opened", "at": iso(now_ms())}]}
    phone = {"Authorization": f"Device installation-0001:{secret}"}
    expect("a receipt", process.ask(None, "POST", "/v1/receipts", said, phone)[0], 202)
    expect("what a phone has said", len(cluster.read(world.topics["receipts"])), 1)
    expect("a logout", process.ask(key, "DELETE", f"{path}/person")[0], 204)
    expect("what it withdraws", len(cluster.read(world.topics["control"])), 1)

    purpose = "carillon devices, carillon people; of it subscribe and unsubscribe with topic.commands read the devices"
    verdicts = ("Read", world.topics["verdicts"])
    settings, missing = granted("teller", purpose, without=verdicts)
    harness.command("people", "audiences", "18", "place/7", settings=settings, expected=EXIT_LOGIN)
    guarded.grant("teller", missing)
    expect("a device is shown", "live" in harness.command("devices", "show", "installation-0001", settings=settings), True)
    harness.command("people", "audiences", "18", "place/8", settings=settings)
    expect("a person is shown", "place/8" in harness.command("people", "show", "18", settings=settings), True)
    harness.command("people", "erase", "18", "--yes", settings=settings)

    erased = "carillon subscriptions import, replay plan, write and redrive with topic.commands, in addition"
    purposes = ("carillon subscribe, subscriptions import", erased)
    settings, missing = granted("importer", *purposes, without=("Read", world.topics["erasures"]))
    old, other = (
        subscription("7", "made-up-token", audience=f"user/{person}", registered_at="2026-01-01T00:00:00Z") for person in (18, 19)
    )
    lines = world.folder / "old.jsonl"
    lines.write_bytes(old.value + b"\n" + other.value + b"\n")
    words = ("subscriptions", "import", str(lines))
    harness.command(*words, settings=settings, expected=EXIT_LOGIN)
    guarded.grant("importer", missing)
    (summary,), _ = documents(world, *words, settings=settings)
    expect("what is imported", (summary["imported"], summary["erased"]), (1, 1))

    answered(world, outcome(0), outcome(1, "accepted"))
    write = ("Write", world.topics["commands"])
    settings, missing = granted("reaper", "carillon deliver reap; carillon deliver with topic.commands, in addition", without=write)
    harness.command("deliver", "reap", "--yes", settings=settings, expected=EXIT_LOGIN)
    guarded.grant("reaper", missing)
    (_, done), _ = documents(world, "deliver", "reap", "--yes", settings=settings)
    expect("what the registrar is told", done["devices"], 1)
    for each in (process, registrar):
        each.stop(30)
        if each.has_line("authorization"):
            raise Failure(f"it lacks a permission:\n{each.last_lines()}")


class Others:
    """The sender and broadcasts on topics of their own, beside each other."""

    def __init__(self, guarded, name):
        self.guarded, self.world = guarded, guarded.harness.make_world(name, guarded.cluster)
        topics, dispatch = self.world.topics, self.world.topics["dispatch"]
        topics |= {"deliveries": f"{name}.deliveries", "broadcasts": f"{name}.broadcasts"}
        topics |= {"broadcasts.journal": f"{name}.broadcasts.journal", "dispatch.broadcasts": f"{dispatch}.broadcasts"}
        retries = [f"{dispatch}.retry.{delay}" for delay in ("10s", "1m", "15m")]
        count = {name: 1 if name == topics["broadcasts"] else 2 for name in topics.values()}
        # Broadcasts want to know when a device has joined.
        kept = {topics["subscriptions"]: {"cleanup.policy": "compact", "min.compaction.lag.ms": str(29 * 86_400_000)}}
        guarded.cluster.create_topics(
            {name: (number, kept.get(name, {})) for name, number in count.items()}
            | {name: (2, {"message.timestamp.type": "LogAppendTime"}) for name in retries}
        )
        guarded.cluster.produce(dispatch, [dispatched(1, now_ms() - 1)])
        # Who may not read it does not know what is in it.
        guarded.cluster.produce(topics["broadcasts"], [Input(b"1", b"no JSON")])
        (self.world.folder / "token").write_text("made-up-token")
        credential = {"name": "shop", "provider": "fcm", "token_file": "token", "project_id": "shop"}
        (self.world.folder / "credentials.json").write_text(json.dumps([credential]))

    def start(self, command, user, name=None, **more):
        """Starts `carillon deliver` or `carillon broadcasts` as this user, with a group of its own."""
        world, name = self.world, name or user
        settings = world.settings(name) | self.guarded.login(user) | {"group.id": name} | more
        del settings["topic.broadcasts.journal"], settings["topic.dispatch.broadcasts"]
        if command == "deliver":
            del settings["topic.broadcasts"]
            settings |= {
                "delivery.credentials": f"@{world.folder}/credentials.json",
                "delivery.fcm-url": "https://localhost:1",
            }
        daemon = world.daemon(name, settings)
        daemon.arguments[1] = command
        if command == "deliver":
            daemon.arguments += ["--provider", "fcm"]
        elif command == "broadcasts":
            daemon.arguments = daemon.arguments[: daemon.arguments.index("--from")]
        return daemon.start()


PURPOSES = {"deliver": "carillon deliver", "broadcasts": "carillon broadcasts"}


@scenario("without any one that they need at the start `deliver` and `broadcasts` end with 77, and name it", background=True)
def one_is_missing_elsewhere(guarded):
    others, cases = Others(guarded, "elsewhere"), []
    for command, purpose in PURPOSES.items():
        for number, missing in enumerate(documented(purpose, others.world)):
            if missing.operation == "DescribeConfigs":
                continue
            user = f"other-{len(cases)}"
            grants = documented(purpose, others.world, group=user)
            missing = grants.pop(number)
            # What can be seen is refused later: what is read, which librdkafka reports once, and what asks for the broker's time.
            if missing.operation == "Read" or missing.name == others.world.topics["broadcasts.journal"]:
                grants.append(missing._replace(operation="Describe"))
            guarded.grant(user, grants)
            cases.append((user, missing, others.start(command, user)))
    problems = []
    for user, missing, daemon in cases:
        try:
            daemon.expect_exit(EXIT_LOGIN, f"User:{user} needs {missing.operation} on", missing.name, "kafka-acls.sh", seconds=120)
        except Failure as failure:
            problems.append(f"without {missing}: {failure}")
    if problems:
        raise Failure("\n".join(problems))


@scenario(
    "a role that lacks a permission says so, and stops alone after 30 s: the others send on; its process ends with 77",
    background=True,
)
def one_role_stops(guarded):
    user, cluster = "shop", guarded.cluster
    world = Others(guarded, user).world
    broadcasts = world.topics["dispatch.broadcasts"]
    cluster.create_topics(
        {f"{broadcasts}.retry.{delay}": (2, {"message.timestamp.type": "LogAppendTime"}) for delay in ("10s", "1m", "15m")}
    )
    cluster.produce(world.topics["subscriptions"], world.subscriptions)
    world.happen_now()
    world.produce(50)
    missing = f"User:{user} needs Read on group {user}-broadcasts"
    purposes = ("carillon run, offsets", *PURPOSES.values(), "carillon deliver with topic.broadcasts, in addition")
    grants = {grant for purpose in purposes for grant in documented(purpose, world, group=user)}
    guarded.grant(user, [each for each in grants if each.name != f"{user}-broadcasts"])
    stand_in = StandIn(guarded.harness.stand_in, world.folder / "providers", guarded.harness.seed)
    settings = world.settings(user) | guarded.login(user) | stand_in.settings()
    settings |= {"group.id": user, "from": "earliest", "schedule": "off", "http": f"127.0.0.1:{free_port()}"}
    del settings["topic.broadcasts.journal"], settings["topic.dispatch.broadcasts"]
    process = Process(user, world.folder, settings, "all", guarded.harness.carillon)
    world.daemons.append(process.start())

    def accepted():
        return sum(json.loads(each.value)["outcome"] == "accepted" for each in cluster.stream(world.topics["deliveries"]))

    # A hundred processes start at the same time.
    wait_for_daemons("a line names the permission", lambda: process.has_line(missing, "waiting"), [process], 20)
    wait_for_daemons("the role has stopped", lambda: f"broadcasts: it has stopped: {missing}" in process.page("/ready"), [process])
    line = f"broadcasts has stopped, and the other roles go on; restart the process once it is mended: {missing}"
    # After the page has it.
    wait_for_daemons("a line says that it has stopped", lambda: process.has_line(line), [process], 10)
    for name in ("role_stopped", "ready"):
        states = [
            int(f'carillon_{name}{{role="{role}"}} 1' in process.page("/metrics")) for role in ("pipeline", "broadcasts", "deliver")
        ]
        expect(name, states, [0, 1, 0] if name == "role_stopped" else [1, 0, 1])
    before = accepted()
    world.produce(100)
    wait_for_daemons("the others send on", lambda: accepted() > before + 50, [process])
    process.signal(signal.SIGTERM)
    process.expect_exit(EXIT_LOGIN, missing)
    stand_in.end()


# What a person asks for, beside the daemons.
COMMANDS = {
    "check": ("topics", "check"),
    "show": ("offsets", "show"),
    "notify": ("notify", "--audience", "place/42", "--app-type", "Generic", "--title", "T", "--body", "B", "--yes"),
    "explain": ("explain", "--order", "4711"),
    "plan": ("replay", "plan"),
}


@scenario(
    "a wrong login, CA or protocol: each daemon and command ends with 77 and says so; where nobody listens, one waits, or 75",
    background=True,
)
def wrong_connection(guarded):
    harness, others = guarded.harness, Others(guarded, "wrong-connection")
    own, _ = certificate(guarded.folder, "not-the-brokers", "20200101000000Z", "20990101000000Z")
    # Whether the broker speaks TLS cannot be told from a connection that it closes, so it is waited for.
    causes = {
        "password": ({"kafka.sasl.password": "wrong"}, EXIT_LOGIN, "Authentication failed"),
        "ca": ({"kafka.ssl.ca.location": own}, EXIT_LOGIN, VERIFY),
        "tls-to-plain": ({"kafka.bootstrap.servers": guarded.plain_text}, EXIT_LOGIN, "SSL handshake failed"),
        "plain-to-tls": ({"kafka.security.protocol": "PLAINTEXT"}, EXIT_NOT_IN_TIME, "security.protocol"),
        "nobody": ({"kafka.bootstrap.servers": f"127.0.0.1:{free_port()}"}, EXIT_NOT_IN_TIME, "Connection refused"),
        "stranger": (guarded.login("stranger"), EXIT_LOGIN, "authorization failed"),
    }
    # What else `run` says of a connection is in `certificates`, and of permissions in `one_is_missing`.
    tried = {"password": ("run", *PURPOSES), "nobody": ("run", *PURPOSES), "stranger": ()}
    daemons, commands = [], []
    for cause, (changed, code, words) in causes.items():
        for command in tried.get(cause, PURPOSES):
            daemons.append((others.start(command, "carillon-run", f"{command}-{cause}", **changed), code, words))
        settings = others.world.settings(cause) | guarded.login("carillon-run") | changed
        settings["topic.requests"] = requests_of(others.world)
        del settings["topic.broadcasts.journal"], settings["topic.dispatch.broadcasts"]
        for name, line in COMMANDS.items():
            daemon = others.world.daemon(f"{name}-{cause}", settings)
            daemon.arguments = [harness.carillon, *line, *flags(settings)]
            commands.append((daemon.start(), code, words))
    problems, told = [], {}
    for daemon, code, words in commands + [each for each in daemons if each[1] == EXIT_LOGIN]:
        try:
            daemon.expect_exit(code, words, seconds=90)
            if (daemon, code, words) in commands and not daemon.name.endswith("stranger"):
                told[words] = told.get(words, False) or daemon.has_line("cannot reach", words, "still trying")
        except Failure as failure:
            problems.append(str(failure))
    for daemon, code, words in daemons:
        if code != EXIT_LOGIN and not (daemon.is_running and daemon.has_line(words, "waiting")):
            problems.append(f"{daemon.name}: {daemon.last_lines()}")
    # A busy machine may know the cause later than after some seconds.
    problems += [f"no command has said {words} before its end" for words, is_told in told.items() if not is_told]
    if problems:
        raise Failure("\n".join(problems))


# Without the prefix that they have in common.
NEEDED = {
    "run": ("events", "dispatch", "dead-letters", "journal", "subscriptions"),
    "deliver": ("dispatch", "dispatch.retry.10s", "dispatch.retry.1m", "dispatch.retry.15m", "deliveries"),
    "broadcasts": ("broadcasts", "dispatch.broadcasts", "broadcasts.journal", "dead-letters", "subscriptions"),
}


@scenario("each daemon names all topics that are missing, with the command that makes them, and ends with 78", background=True)
def missing_topics(guarded):
    others, daemons = Others(guarded, "missing-topics"), []
    for command, needed in NEEDED.items():
        gone = {f"topic.{name}": f"gone.{name}" for name in others.world.topics if "." not in name}
        if command == "deliver":
            del gone["topic.broadcasts"]
        daemons.append((others.start(command, "admin", f"missing-{command}", **gone), [f"gone.{name}" for name in needed]))
    for daemon, names in daemons:
        daemon.expect_exit(EXIT_CONFIGURATION, "no such topic", *names, "`carillon topics create`", seconds=90)


def dispatched(number, expires):
    """A record of the dispatch topic for a device of its own."""
    token = f"made-up-token-{number}"
    headers = {
        "message-id": f"msg-1-{number:09}",
        "platform": "fcm",
        "source": f"orders.events/0/{number}",
        "expires-at": expires,
        "audience": "place/1",
    }
    message = {"message": {"token": token, "data": {"default": "{}"}, "android": {"ttl": "3600s"}}}
    return Input(
        hashlib.sha256(token.encode()).hexdigest().encode(),
        json.dumps(message).encode(),
        tuple((name, str(value).encode()) for name, value in headers.items()),
    )


@scenario("with the documented ACLs and no other `deliver` writes outcomes and retries", background=True)
def enough_to_deliver(guarded):
    harness = guarded.harness
    world = harness.make_world("delivers", guarded.cluster)
    dispatch, world.topics["deliveries"] = world.topics["dispatch"], f"{world.name}.deliveries"
    retries = [f"{dispatch}.retry.{delay}" for delay in ("10s", "1m", "15m")]
    topics = {dispatch: {}, world.topics["deliveries"]: {}} | {
        name: {"message.timestamp.type": "LogAppendTime"} for name in retries
    }
    guarded.cluster.create_topics({name: (2, settings) for name, settings in topics.items()})
    (world.folder / "token").write_text("made-up-token")
    credential = {"name": "shop", "provider": "fcm", "token_file": "token", "project_id": "shop"}
    (world.folder / "credentials.json").write_text(json.dumps([credential]))
    guarded.grant("sender", documented("carillon deliver", world))
    # Nobody listens there: what is sent waits for another attempt.
    sender = {"delivery.credentials": f"@{world.folder}/credentials.json", "delivery.fcm-url": "https://localhost:1"}
    settings = world.settings("a") | guarded.login("sender") | sender
    guarded.cluster.produce(dispatch, [dispatched(1, now_ms() - 1), dispatched(2, now_ms() + 3_600_000)])
    daemon = world.daemon("a", settings)
    daemon.arguments[1] = "deliver"
    daemon.start()
    for name in (world.topics["deliveries"], retries[0]):
        wait_for_daemons(f"there is a record in {name}", lambda name=name: list(guarded.cluster.stream(name)), [daemon], 60)
    if daemon.has_line("authorization"):
        raise Failure(f"it lacks a permission:\n{daemon.last_lines()}")
    daemon.stop()


@scenario("without any one of them `run` ends after about 30 s with 77; the command that it names is what helps", background=True)
def one_is_missing(guarded):
    harness = guarded.harness
    world = harness.make_world("missing", guarded.cluster, poison_rate=0.1).create_topics()
    world.produce(300)
    cases = []
    for is_visible in (False, True):
        for number, missing in enumerate(documented("carillon run, offsets", world)):
            if missing.operation == "DescribeConfigs":
                continue
            user = f"user-{len(cases)}"
            grants = documented("carillon run, offsets", world, group=user)
            missing = grants.pop(number)
            # Another permission lets the client see the resource, and the refusal comes later.
            if is_visible:
                grants.append(missing._replace(operation="Describe"))
            guarded.grant(user, grants)
            settings = world.settings(user) | guarded.login(user) | {"group.id": user}
            cases.append((user, missing, world.daemon(user, settings).start()))
    problems = []
    for user, missing, daemon in cases:
        try:
            daemon.expect_exit(EXIT_LOGIN, f"User:{user} needs {missing.operation} on", missing.name, "kafka-acls.sh", seconds=90)
            advised = grants_in([line for line in daemon.log().splitlines() if line.startswith("carillon:")])
            if missing not in advised:
                raise Failure(f"{user}: it advises {advised}, {missing} is missing")
            guarded.grant(user, advised)
        except Failure as failure:
            problems.append(f"without {missing}: {failure}")
    if problems:
        raise Failure("\n".join(problems))
    for _, _, daemon in cases:
        daemon.start()
    for user, _, daemon in cases:
        wait_for_daemons(
            f"{user} works", lambda: sum(guarded.cluster.committed(user, world.topics["events"]).values()) >= 300, [daemon], 90
        )
        daemon.stop()


@scenario("a permission that is revoked during a run is waited for and named; nothing is lost or repeated", background=True)
def taken_away(guarded):
    harness = guarded.harness
    user = "user-14"
    world = harness.make_world("taken-away", guarded.cluster, poison_rate=0.2).create_topics()
    grants = documented("carillon run, offsets", world)
    guarded.grant(user, grants)
    world.produce(100)
    daemon = world.daemon("a", world.settings("a") | guarded.login(user)).start()
    world.wait_until_done()
    for each in [grant for grant in grants if grant.operation != "DescribeConfigs"]:
        guarded.revoke(user, each)
        world.produce(50)
        wait_for_daemons(
            f"it says that {each} is missing", lambda: daemon.has_line("needs " + each.operation, each.name), [daemon], 90
        )
        guarded.grant(user, [each])
        world.wait_until_done(90)
    daemon.stop()
    check(world.verify())


@scenario("a permission that is revoked from a sender is named and waited for; each push has one outcome", background=True)
def taken_from_sender(guarded):
    user, cluster = "courier", guarded.cluster
    world = Others(guarded, user).world
    dispatch, deliveries = world.topics["dispatch"], world.topics["deliveries"]
    guarded.grant(user, documented("carillon deliver", world))
    stand_in = StandIn(guarded.harness.stand_in, world.folder / "providers", guarded.harness.seed)
    settings = world.settings(user) | guarded.login(user) | stand_in.settings() | {"from": "earliest"}
    for name in ("broadcasts", "broadcasts.journal", "dispatch.broadcasts"):
        del settings[f"topic.{name}"]
    process = Process(user, world.folder, settings | {"http": f"127.0.0.1:{free_port()}"}, "deliver", guarded.harness.carillon)
    world.daemons.append(process.start())
    ended = collections.Counter()

    def push(count):
        first = sum(cluster.ends(dispatch).values())
        cluster.produce(dispatch, [dispatched(first + number, now_ms() + 3_600_000) for number in range(count)])

    def is_done():
        ended.clear()
        for each in map(lambda each: json.loads(each.value), cluster.stream(deliveries)):
            ended[each["partition"], each["offset"]] += 1
        return len(ended) >= sum(cluster.ends(dispatch).values())

    wait_for_daemons("the first push has its outcome", is_done, [process], 60)
    needed = [each for each in documented("carillon deliver", world) if each.resource == "group" or each.name == deliveries]
    for each in needed:
        guarded.revoke(user, each)
        push(20)
        words = f"User:{user} needs {each.operation} on", each.name
        wait_for_daemons(f"it says that {each} is missing", lambda words=words: process.has_line(*words), [process], 60)
        guarded.grant(user, [each])
        push(20)
        wait_for_daemons(f"{each} is back, and each push has an outcome", is_done, [process], 60)
    process.stop()
    stand_in.end()
    expect("pushes with more than one outcome", [place for place, count in ended.items() if count > 1], [])
    expect(
        "permissions that were revoked",
        [(each.operation, each.resource) for each in needed],
        [("Write", "topic"), ("Read", "group")],
    )


@scenario(
    "a wrong CA, an expired and a self-signed certificate and a wrong security.protocol: one clear line each", background=True
)
def certificates(guarded):
    harness = guarded.harness
    world = harness.make_world("certificates", guarded.cluster).create_topics()
    login = guarded.login("carillon-run")
    expired, expired_key = certificate(guarded.folder, "expired", "20200101000000Z", "20200201000000Z")
    own, own_key = certificate(guarded.folder, "own", "20200101000000Z", "20990101000000Z")
    cases = {
        "wrong-ca": ({"kafka.ssl.ca.location": own}, VERIFY, "ssl.ca.location"),
        "expired": (
            {"kafka.ssl.ca.location": expired, "kafka.bootstrap.servers": TLSListener(expired, expired_key).address},
            VERIFY,
            "is in date",
        ),
        "self-signed": ({"kafka.bootstrap.servers": TLSListener(own, own_key).address}, VERIFY, "ssl.ca.location"),
        "tls-to-plain-text": ({"kafka.bootstrap.servers": guarded.plain_text}, "SSL handshake failed", "security.protocol"),
    }
    daemons = {name: world.daemon(name, world.settings(name) | login | changed).start() for name, (changed, *_) in cases.items()}
    # Whether the broker speaks TLS cannot be told from a connection that it closes, so it is waited for.
    plain = world.daemon("plain-text-to-tls", world.settings("plain") | {"kafka.security.protocol": "PLAINTEXT"}).start()
    for name, daemon in daemons.items():
        daemon.expect_exit(EXIT_LOGIN, "carillon: sasl_ssl://", *cases[name][1:], seconds=90)
    wait_for_daemons("a line says what to look at", lambda: plain.has_line("security.protocol", "waiting"), [plain], 60)
    plain.stop()


@scenario("passwords and device tokens are in no log, not in check-config, ps or what a crash leaves", background=True)
def secrets(guarded):
    harness = guarded.harness
    world = harness.make_world("secrets", guarded.cluster).create_topics()
    user = "user-15"
    guarded.grant(user, documented("carillon run, offsets", world))
    openssl(world.folder, f"genrsa -aes256 -passout pass:{KEY_PASSWORD} -out key.pem 2048")
    openssl(world.folder, f"req -x509 -key key.pem -passin pass:{KEY_PASSWORD} -subj /CN=c -out client.pem")
    settings = (
        world.settings("a")
        | guarded.login(user)
        | {
            "kafka.ssl.certificate.location": world.folder / "client.pem",
            "kafka.ssl.key.location": world.folder / "key.pem",
            "kafka.ssl.key.password": KEY_PASSWORD,
            "log.level": "trace",
            "kafka.debug": "all",
        }
    )
    tokens = [json.loads(each.value)["token"] for each in well_formed(world.subscriptions)]
    hidden = [settings["kafka.sasl.password"], KEY_PASSWORD, *tokens]

    def check_hidden(where, text):
        shown = [each for each in hidden if each in text]
        if shown:
            line = next(line for line in text.splitlines() if shown[0] in line)
            raise Failure(f"{len(shown)} secrets are in {where}: {line[:300]}")

    check_hidden("check-config", harness.command("check-config", settings=settings))
    world.produce(300)
    for number in (signal.SIGABRT, signal.SIGSEGV):
        daemon = world.daemon("a", settings)
        daemon.variables = BACKTRACE
        daemon.start()
        wait_for_daemons("it works", lambda: world.lag() == 0 and daemon.has_line("events/s"), [daemon], 90)
        check_hidden("ps", pathlib.Path(f"/proc/{daemon.process.pid}/cmdline").read_bytes().decode())
        daemon.signal(number)
        # Swift's handler reports a signal of another process, and the process continues.
        wait_for("the crash is reported", lambda: "Backtrace took" in daemon.log(), 90)
        daemon.kill()
        if "Registers:" not in daemon.log() or "facility=SEND" not in daemon.log():
            raise Failure("its log lacks the registers of the crash or librdkafka's lines: there is nothing to look through")
        check_hidden(f"the log, with {number.name}", daemon.log())


if __name__ == "__main__":
    sys.exit(main("acl", __doc__, globals(), around=a_guarded_broker))
