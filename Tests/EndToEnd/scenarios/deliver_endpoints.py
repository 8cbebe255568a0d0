"""`carillon deliver` against endpoints of others: an FCM one that Google's own client accepts, and Pushy's mock APNs server.

FCM_ENDPOINT and APNS_ENDPOINT are their addresses, as in https://127.0.0.1:1234; FCM_FOLDER and APNS_FOLDER are their folders: with
`ca.pem`, the credentials, the files by which they are told what to answer (`tokens.tsv`, `devices.tsv`), and `outcomes.jsonl`, what
they say themselves."""

import collections
import json
import os
import pathlib
import sys

from generator.dispatch import Pushes
from generator.inputs import compact
from harness.alpn import AlpnRelay
from harness.delivering import DeliveryWorld
from harness.scenario import main, scenario
from harness.waiting import Skipped, expect, now_ms, wait_for
from model.pushes import push_of

VARIABLES = ("FCM_ENDPOINT", "FCM_FOLDER", "APNS_ENDPOINT", "APNS_FOLDER")
# What FCM's endpoint does to a device, and what becomes of its pushes: `*1` is its first request alone.
FCM = {
    "": "accepted",
    "slow": "accepted",
    "quota*1": "accepted",
    "unavailable*1": "accepted",
    "unavailable-date*1": "accepted",
    "internal*1": "accepted",
    "html*1": "accepted",
    "hang*1": "accepted",
    "reset*1": "accepted",
    "unregistered": "dead_device",
    "invalid": "dead_device",
    "mismatch": "refused",
    "third-party-auth": "refused",
}
# What APNs' endpoint knows of a device.
APNS = {"known": "accepted", "gone": "dead_device", "other topic": "refused", "unknown": "refused"}
GONE_AT = 1_751_870_000_000
# Most work: a provider that fails half of the time pauses.
PLAIN, DEVICES, EACH = 60, 2, 5
APP = "com.example.courier"


def append(path, rows):
    with open(path, "a") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)


def prepare(pushes, fcm, apns):
    """Tells the endpoints what to answer for each device. Returns what becomes of it, by the hash of its token."""
    fcm_targets = [each for each in pushes.targets if each.platform == "fcm"]
    apns_targets = [each for each in pushes.targets if each.platform == "apns"]
    wanted, tokens, devices = {}, [], []
    for name, target in zip([each for each in FCM for _ in range(DEVICES if each else PLAIN)], fcm_targets):
        tokens += [(target.token, name)] if name else []
        wanted[target.token_hash] = FCM[name]
    for name, target in zip([each for each in APNS for _ in range(DEVICES)], apns_targets):
        rows = {"known": (APP,), "gone": (APP, str(GONE_AT)), "other topic": ("com.example.other",), "unknown": None}[name]
        devices += [(target.token, *rows)] if rows else []
        wanted[target.token_hash] = APNS[name]
    append(fcm / "tokens.tsv", tokens)
    append(apns / "devices.tsv", devices)
    return wanted


def lane_settings(folder, fcm, apns):
    """The settings of each provider's process: each endpoint has an authority of its own."""
    (key,) = apns.glob("AuthKey_*.p8")
    team = next(apns.glob("*.pub.pem")).name.split(".")[1]
    apple = {"key_file": str(key), "key_id": key.stem.removeprefix("AuthKey_"), "team_id": team}
    credentials = [
        {"name": "project", "provider": "fcm", "service_account": str(fcm / "service-account.json")},
        {"name": "team", "provider": "apns"} | apple,
    ]
    (folder / "credentials.json").write_bytes(compact(credentials))
    # It does not answer ALPN.
    relay = AlpnRelay(int(os.environ["APNS_ENDPOINT"].rpartition(":")[2]), apns / "server.pem", apns / "server.key")
    shared = {
        "delivery.credentials": f"@{folder / 'credentials.json'}",
        "delivery.fcm-url": os.environ["FCM_ENDPOINT"],
        "delivery.apns-url": relay.url,
        "delivery.give-up": "10m",
    }
    return {lane: shared | {"delivery.ca-file": place / "ca.pem"} for lane, place in (("fcm", fcm), ("apns", apns))}


def taken(fcm, apns):
    """The message ids that the endpoints say they have accepted, in their order."""
    found = []
    for line in (fcm / "outcomes.jsonl").read_text().splitlines():
        if message := json.loads(line).get("message"):
            found.append(json.loads(message["data"]["default"])["data"]["message_id"])
    for line in (apns / "outcomes.jsonl").read_text().splitlines():
        if (answer := json.loads(line))["accepted"]:
            found.append(answer["headers"]["apns-collapse-id"])
    return found


@scenario("endpoints of others accept what is sent to them, in the order of each device, and their answers are read right")
def endpoints(harness):
    if missing := [name for name in VARIABLES if not os.environ.get(name)]:
        raise Skipped(f"{', '.join(missing)} not set")
    fcm, apns = (pathlib.Path(os.environ[name]) for name in ("FCM_FOLDER", "APNS_FOLDER"))
    world = DeliveryWorld(harness, "endpoints", harness.cluster(), partitions=2)
    world.create_topics()
    pushes = Pushes(harness.seed, 4 * (PLAIN + DEVICES * (len(FCM) + len(APNS))))
    wanted = prepare(pushes, fcm, apns)
    targets = [each for each in pushes.targets if each.token_hash in wanted]
    expect("devices", len(targets), PLAIN + DEVICES * (len(FCM) - 1 + len(APNS)))
    for lane, settings in lane_settings(world.folder, fcm, apns).items():
        world.sender(lane, world.settings(lane) | settings, "--provider", lane).start()
    made, now = [pushes.record(target, now_ms(), now_ms() + 3_600_000) for _ in range(EACH) for target in targets], now_ms()
    world.cluster.produce(world.dispatch, made)
    world.wait_until_done(world.daemons)
    for each in world.daemons:
        each.stop(45)
    check(world, wanted, fcm, apns)
    print(f"{len(made)} pushes in {(now_ms() - now) / 1_000:.1f} s", flush=True)


def check(world, wanted, fcm, apns):
    sent = {(each.partition, each.offset): push_of(each) for each in world.cluster.read(world.dispatch)}
    outcomes = {}
    for record in world.cluster.read(world.topics["deliveries"]):
        value = json.loads(record.value)
        outcomes.setdefault((value["partition"], value["offset"]), []).append(value)
    expect("pushes without one outcome", [each for each in sent if len(outcomes.get(each, ())) != 1], [])
    wrong = [each[0] for place, each in outcomes.items() if each[0]["outcome"] != wanted[sent[place].device]]
    expect("outcomes that are not what the endpoint did", wrong, [])
    for each in (found[0] for found in outcomes.values()):
        if each["outcome"] == "dead_device" and each["platform"] == "apns":
            expect("the time of Unregistered", each["evidence"], GONE_AT)
    # In the order of each device, each once but for those whose answer was lost.
    by_message = {push.message: push for push in sent.values()}
    orders = collections.defaultdict(list)
    accepted = wait_for("the endpoints' logs", lambda: taken(fcm, apns))
    for message in accepted:
        if (push := by_message.get(message)) and push.offset not in orders[push.device][-1:]:
            orders[push.device].append(push.offset)
    expect("devices whose pushes are out of order", [each for each, order in orders.items() if order != sorted(set(order))], [])
    lost = [
        each[0] for place, each in outcomes.items() if each[0]["outcome"] == "accepted" and sent[place].message not in set(accepted)
    ]
    expect("accepted, but not by the endpoint", lost, [])
    counts = collections.Counter(each[0]["outcome"] for each in outcomes.values())
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())), flush=True)


if __name__ == "__main__":
    sys.exit(main("deliver-endpoints", __doc__, globals()))
