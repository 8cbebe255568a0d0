"""What the topics of a registrar must have, record by record, beside what `Decisions` makes of the commands."""

import json

from model.registrar_decisions import Decisions, sha256


def check_decisions(registry, report):
    """What the topics have is what the commands say: each verdict, each record of devices and people, in order, and the
    subscriptions that each command has written. Returns the decisions."""
    decisions = Decisions()
    decided = [decisions.decide(each) for each in registry.commands]
    verdicts = [json.loads(each.value) for each in registry.verdicts]
    for found, wanted in zip(verdicts, decided, strict=False):
        found.pop("problems", None)
        if found != wanted.verdict:
            report.add("a verdict is not what its command says", f"{found}, expected {wanted.verdict}")
    for kind, records in (("devices", registry.devices), ("people", registry.people)):
        found = [(each.key.decode(), json.loads(each.value) if each.value else None) for each in records]
        wanted = [pair for each in decided for pair in getattr(each, kind)]
        if found != wanted:
            at = next((at for at, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1]), min(len(found), len(wanted)))
            sentence = f"record {at} of {len(found)} and {len(wanted)}: {found[at : at + 1]}, expected {wanted[at : at + 1]}"
            report.add(f"the records of {kind} are not what the commands say", sentence)
    erasures = [(sha256(name).encode(), decisions.erasure_records[at]) for at, name in decisions.erasures.items()]
    if [(each.key, json.loads(each.value)) for each in registry.erasures] != erasures:
        report.add("the erasures are not those of the commands", f"{len(registry.erasures)}, expected {len(erasures)}")
    check_written(registry.subscriptions, decided, report)
    check_withdrawals(registry.control, decided, report)
    check_repeats(registry, report)
    return decisions


def check_written(records, decided, report):
    """Each command has written these subscriptions, each once, and no others."""
    found = {}
    for record in records:
        headers = dict(record.headers)
        if "command" not in headers:
            continue
        written = found.setdefault(int(headers["command"]), {})
        key, since = record.key.decode(), headers.get("since")
        if key in written:
            report.add("a command has written a subscription twice", f"{headers['command']}: {key}")
        written[key] = (json.loads(record.value) if record.value else None, int(since) if since else None)
    for decision in decided:
        command = decision.verdict["command"]
        written, wanted = found.pop(command, {}), decision.subscriptions
        for key in written.keys() | wanted.keys():
            if written.get(key) != wanted.get(key):
                sentence = f"command {command}: {key}: {written.get(key)}, expected {wanted.get(key)}"
                report.add("a command's subscriptions are not what it says", sentence)
    for command in found:
        report.add("subscriptions are of no command", str(command))


def check_withdrawals(records, decided, report):
    """Each command withdraws what its device, or its address, has lost."""
    found = {}
    for record in records:
        kind, _, rest = record.key.decode().partition("/")
        if kind == "address":
            found[rest] = frozenset(json.loads(record.value).get("audiences_sha256", [])) or None
    wanted = {}
    for decision in decided:
        for address, audiences in decision.withdrawals.items():
            wanted[f"{address}/{decision.verdict['command']}"] = audiences and frozenset(map(sha256, audiences))
    for name in found.keys() | wanted.keys():
        if name not in found or name not in wanted or found[name] != wanted[name]:
            sentence = f"{name}: {found.get(name, 'none')}, expected {wanted.get(name, 'none')}"
            report.add("what is withdrawn is not what the commands say", sentence)


def check_repeats(registry, report):
    """The same command again, with nothing changed since, changes nothing."""
    verdicts = {each["command"]: each["verdict"] for each in map(json.loads, (each.value for each in registry.verdicts))}
    written = {json.loads(each.value)["revision"] for each in registry.devices if each.value}
    written |= {int(value) for each in registry.subscriptions for name, value in each.headers if name == "command"}
    before = set()
    for record in registry.commands:
        verdict = verdicts.get(record.offset)
        if record.value in before and (verdict in ("created", "changed") or record.offset in written):
            report.add("a repeat has changed something", f"command {record.offset}: {verdict}")
        if verdict not in ("unchanged", "refused"):
            before.clear()
        before.add(record.value)


def check_addresses(records, report):
    """After each command the subscriptions of an address are all of one app. Only where each device has an app of its own."""
    apps, changed, last = {}, set(), None

    def look(command):
        for address in changed:
            if len(set(apps[address].values())) > 1:
                report.add("an address is subscribed for two devices", f"after command {command}: {set(apps[address].values())}")
        changed.clear()

    for record in records:
        command = dict(record.headers).get("command")
        if command != last:
            look(last)
        last = command
        audience, _, address = record.key.decode().rpartition("|")
        changed.add(address)
        of_address = apps.setdefault(address, {})
        if record.value is None:
            of_address.pop(audience, None)
        else:
            of_address[audience] = json.loads(record.value)["app"]
    look(last)
