"""What the topics of a registrar must say together, read from the topics alone: it is not decided again what a command does."""

import hashlib
import json
from dataclasses import dataclass, field

from model.report import Report


@dataclass
class Registry:
    """The records of a registrar's topics, each in the order of its offsets."""

    commands: list
    verdicts: list
    devices: list
    people: list
    erasures: list
    subscriptions: list
    control: list
    # The keys of subscriptions that somebody else has written, to addresses that no command names.
    others: set = field(default_factory=set)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def newest(records):
    """By key the newest value, without what was deleted."""
    values = {record.key: record.value for record in records}
    return {key.decode(): json.loads(value) for key, value in values.items() if value is not None}


def verify_registry(registry):
    """A report of what does not agree."""
    report = Report()
    devices, people = newest(registry.devices), newest(registry.people)
    verdicts = check_verdicts(registry, report)
    check_revisions(devices, people, verdicts, report)
    check_owners(registry.devices, report)
    check_subscriptions(registry, devices, people, report)
    report.counts = {
        "commands": len(registry.commands),
        "devices": len(devices),
        "people": len(people),
        "subscriptions": len(newest(registry.subscriptions)),
        "refused": sum(each["verdict"] == "refused" for each in verdicts.values()),
    }
    return report


def check_verdicts(registry, report):
    """Each command has one verdict, in the order of the commands."""
    verdicts = [json.loads(each.value) for each in registry.verdicts]
    found, wanted = [each["command"] for each in verdicts], [each.offset for each in registry.commands]
    if found != wanted:
        at = next((at for at, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1]), min(len(found), len(wanted)))
        report.add("verdicts are not those of the commands", f"{len(found)} of {len(wanted)}, from {at}: {found[at : at + 3]}")
    return {each["command"]: each for each in verdicts}


def check_revisions(devices, people, verdicts, report):
    """What is there was made by a command that has changed something; a device also where another one took its address."""
    for name, state in [*devices.items(), *people.items()]:
        verdict = verdicts.get(state["revision"], {}).get("verdict")
        if verdict not in ("created", "changed"):
            report.add("a revision is of no change", f"{name} is of {state['revision']}: {verdict}")


def check_owners(records, report):
    """At every offset an address is live in one device at most. Of a topic with one partition."""
    states, owners = {}, {}
    for record in records:
        before = live(states.get(record.key))
        if before and owners.get(before) == record.key:
            del owners[before]
        state = states[record.key] = json.loads(record.value) if record.value else None
        if address := live(state):
            if address in owners:
                report.add("an address has two devices", f"{record.source}: {record.key} and {owners[address]}")
            owners[address] = record.key


def live(state):
    """A device's address, where it is live."""
    return state["address"]["value"] if state and state["address"]["state"] == "live" else None


def check_subscriptions(registry, devices, people, report):
    """The fold of the subscriptions is what devices and people say, and what others have written."""
    wanted = set(registry.others)
    for state in devices.values():
        if not (address := live(state)):
            continue
        audiences = {*state.get("audiences", []), f"device/{sha256(address)}"}
        if person := state.get("person"):
            audiences |= {f"user/{person}", *people.get(person, {}).get("audiences", [])}
        wanted |= {f"{audience}|{sha256(address)}" for audience in audiences}
    found = newest(registry.subscriptions)
    for key in sorted(wanted - found.keys()):
        report.add("a subscription is missing", key)
    for key in sorted(found.keys() - wanted):
        report.add("a subscription is nobody's", key)
    # It names the device that has the address now.
    by_address = {sha256(live(state)): state for state in devices.values() if live(state)}
    for key, value in found.items():
        state = by_address.get(key.rpartition("|")[2])
        if state and key in wanted and (value["app"], value.get("locale")) != (state["app"], state.get("locale")):
            report.add("a subscription is not its device's", key)
