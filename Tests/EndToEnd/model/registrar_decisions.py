"""What each command about devices and people changes, decided once more, in the order of the log and by nobody but this code. It
knows no subscriptions but the registrar's own."""

import datetime
import hashlib
import json
from typing import NamedTuple

DAY_MS = 86_400_000
MOST_AUDIENCES = {"device": 200, "person": 1_000}
# Of the addresses that a device has left, and for how long they are known.
MOST_LEFT, LEFT_MS = 8, 28 * DAY_MS
# Of each kind of address: the platform, and what a subscription says of the kind.
KINDS = {"registration_token": ("fcm", None), "installation_id": ("fcm", "installation_id"), "apns_token": ("apns", None)}
# What no client sees of a device, or what changes without a revision.
UNSEEN = ("revision", "seen_at", "refreshed_at")


class Decision(NamedTuple):
    """What a command changes: values of records, None for a tombstone."""

    verdict: dict
    # Pairs of an id and a value, in the order of the records.
    devices: list
    people: list
    # By key a value and the header `since`.
    subscriptions: dict
    # By the SHA-256 of an address: of which audiences older pushes are not sent to it any more; None: of all.
    withdrawals: dict


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def in_order(texts):
    """Without repeats, by their bytes."""
    return sorted(set(texts), key=str.encode)


def live(state):
    """A device's address, where it is live."""
    return state["address"] if state and state["address"]["state"] == "live" else None


def hash_of(state):
    address = live(state)
    return sha256(address["value"]) if address else None


def reached(state):
    """The hash of the address to which pushes may be on their way: a provider that calls it dead may be wrong."""
    address = state["address"]
    return address["sha256"] if address["state"] == "dead" else hash_of(state)


def with_members(state, **members):
    """Another value of the record, without those that are None."""
    return {name: value for name, value in (state | members).items() if value is not None}


class Decisions:
    """The registrar's state between two commands, and how it came to be."""

    def __init__(self):
        self.devices, self.people = {}, {}
        # By person the time of the last erasure; the offsets of all, with their persons; and what each one's record says.
        self.erased, self.erasures, self.erasure_records = {}, {}, {}
        # By person, when each address was erased, by its SHA-256.
        self.erased_addresses = {}
        # By the SHA-256 of an address: whose it is, and its subscriptions by key.
        self.owners, self.subscriptions = {}, {}
        # By resource, such as devices/NAME: pairs of a command's offset and what it has been since.
        self.history = {}
        # By the offset of the command: when the broker has got it, in milliseconds since 1970.
        self.decided, self.times = {}, {}

    def decide(self, record):
        """The decision about the next record of the topic of commands."""
        command, self.offset, self.time = json.loads(record.value), record.offset, record.timestamp
        self.device_records, self.person_records, self.subscription_records, self.withdrawals = [], [], {}, {}
        action = getattr(self, "_" + command["action"])
        members = refused("person_erased") if self._is_erased(command) else action(command)
        verdict = {"version": 1, "command": record.offset} | members
        decision = Decision(verdict, self.device_records, self.person_records, self.subscription_records, self.withdrawals)
        self.decided[record.offset], self.times[record.offset] = decision, record.timestamp
        return decision

    # What a command does: each gives the members of its verdict.

    def _change_device(self, command):
        name, is_whole = command["device"], command["whole"]
        before = self.devices.get(name)
        if before is None and not is_whole:
            return refused("not_found")
        if before and self._is_repeated_logout(command, before):
            return {"verdict": "unchanged", "revision": before["revision"]}
        after = self._changed(before or self._made(name), command)
        if refusal := self._refusal_of_device(command, before, after):
            return refusal
        is_same = bool(before) and seen(before) == seen(after)
        if self.time - after["seen_at"] >= DAY_MS:
            after["seen_at"] = self.time
        if hash_of(before) != hash_of(after) or self.time - after["refreshed_at"] >= 7 * DAY_MS:
            after["refreshed_at"] = self.time
        after["revision"] = before["revision"] if is_same else self.offset
        self._replace(name, before, after)
        return {"verdict": "unchanged" if is_same else "changed" if before else "created", "revision": after["revision"]}

    def _delete_device(self, command):
        before = self.devices.get(command["device"])
        if before and (reason := refusal_of_author(command, before, None)):
            return refused(reason)
        if refusal := refusal_of_condition(command, before):
            return refusal
        if before:
            self._forget(command["device"])
        return {"verdict": "gone"}

    def _bury_address(self, command):
        if kind_of(command["by"]) not in ("key", "sender"):
            return refused("not_found")
        name = self.owners.get(command["address_sha256"])
        state = self.devices.get(name)
        if not state or KINDS[live(state)["kind"]][0] != command["platform"]:
            return {"verdict": "gone"}
        # It is about another app: what nobody but the registrar has subscribed is of the device's own.
        if any(command.get(each, state[each]) != state[each] for each in ("app", "environment")):
            return {"verdict": "gone"}
        if command["at"] <= max(live(state)["since"], state["seen_at"]):
            return {"verdict": "gone"}
        death = {each: command[each] for each in ("platform", "reason", "at")}
        address = {"state": "dead", "sha256": command["address_sha256"]} | death
        self._set_device(name, state | {"address": address, "revision": self.offset})
        self._subscribe(command["address_sha256"])
        return {"verdict": "changed", "revision": self.offset}

    def _change_person(self, command):
        name, author = command["person"], kind_of(command["by"])
        is_own = author == "user" and command["by"] == f"user:{name}" and "audiences" not in command
        if author != "key" and not is_own:
            return refused("not_found")
        before = self.people.get(name)
        if refusal := refusal_of_condition(command, before):
            return refusal
        if refusal := refusal_of_audiences(command.get("audiences", []), MOST_AUDIENCES["person"]):
            return refusal
        after = before or {"version": 1, "person": name, "revision": self.offset, "audiences": []}
        changes = {each: command[each] for each in ("locale", "time_zone") if each in command}
        after = with_members(after, audiences=in_order(command.get("audiences", after["audiences"])), **changes)
        if before == after:
            return {"verdict": "unchanged", "revision": before["revision"]}
        after["revision"] = self.offset
        self._set_person(name, after)
        for each in self._devices_of(name):
            if address := hash_of(self.devices[each]):
                self._subscribe(address)
        return {"verdict": "changed" if before else "created", "revision": self.offset}

    def _erase_person(self, command):
        if kind_of(command["by"]) != "key":
            return refused("not_found")
        name = command["person"]
        if refusal := refusal_of_condition(command, self.people.get(name)):
            return refusal
        devices = self._devices_of(name)
        addresses = self.erased_addresses.setdefault(name, {})
        for each in devices:
            addresses |= dict.fromkeys(self._addresses_of(each), self.time)
            self._forget(each)
        if name in self.people:
            self._set_person(name, None)
        self.erased[name] = self.time
        self.erasures[self.offset] = name
        self.erasure_records[self.offset] = {"version": 2, "at": self.time, "addresses": dict(addresses)}
        return {"verdict": "erased", "devices": len(devices)}

    # What a device becomes.

    def _made(self, name):
        times = dict.fromkeys(("registered_at", "seen_at", "refreshed_at"), self.time)
        return {"version": 2, "device": name, "address": {"state": "none"}, "app": ""} | times

    def _changed(self, state, command):
        """The device as the command has it; of a whole one what is absent is removed."""
        is_whole, person = command["whole"], state.get("person")
        members = {each: None for each in ("locale", "time_zone", "person") if is_whole}
        known = ("locale", "time_zone", "person", "app", "environment", "generation")
        members |= {each: command[each] for each in known if each in command}
        if "new_credential" in command:
            members["credential"] = command["new_credential"]
        if is_whole:
            members.setdefault("environment", "production")
        if is_whole or "address" in command:
            members["address"] = self._address(live(state), command.get("address"))
        audiences = command.get("audiences", [] if is_whole else state.get("audiences", []))
        after = with_members(state, **members)
        if "audiences" not in command and after.get("person") != person:
            audiences = [each for each in audiences if each.startswith("channel/")]
        audiences = (set(audiences) - set(command.get("removes", []))) | set(command.get("adds", []))
        return after | {"audiences": in_order(audiences)}

    def _address(self, before, new):
        if new is None:
            return {"state": "none"}
        is_same = before and all(before[each] == new[each] for each in ("kind", "value"))
        return before if is_same else {"state": "live", "kind": new["kind"], "value": new["value"], "since": self.time}

    def _replace(self, name, before, after):
        """An address belongs to one device; the one that had it is told so."""
        old, new = hash_of(before), hash_of(after)
        owner = self.owners.get(new)
        is_claimed = owner not in (None, name)
        if is_claimed:
            self._withdraw(self.devices[owner].get("left", []), owner)
            claimed = {"state": "claimed", "sha256": new, "at": self.time}
            self._set_device(owner, with_members(self.devices[owner], address=claimed, revision=self.offset, left=None))
        # What was for another person is not shown to this one.
        is_others = is_claimed or (before or {}).get("person") != after.get("person")
        if before:
            after = self._with_left(name, before, after, is_others)
        # Whom a rotation has taken over is no joiner, nor who was dead.
        moved = self._audiences(before) if before and reached(before) and old != new else set()
        if before != after:
            self._set_device(name, after)
        if old and old != new:
            self._subscribe(old)
        if new:
            lost = self.subscriptions.get(new, {}).keys() - self.wanted(new).keys()
            lost = {key.rpartition("|")[0] for key in lost if key.startswith(("place/", "user/"))}
            if is_others and lost:
                self.withdrawals.setdefault(new, lost)
            self._subscribe(new, moved, after["registered_at"])

    def _with_left(self, name, before, after, is_others):
        """The addresses that it has left; those of another person, or of a device without one, are withdrawn at once."""
        old, new = reached(before), hash_of(after)
        if old == reached(after) and not is_others:
            return after
        left = list(before.get("left", []))
        if old and not hash_of(before) == old == new:
            left.append({"sha256": old, "at": self.time})
        # What is on its way to it is of the same person; of another one it is not for this one either.
        if not is_others:
            left = [each for each in left if each["sha256"] != new]
        return with_members(after, left=self._withdraw(left, name, MOST_LEFT if new and not is_others else 0) or None)

    def _withdraw(self, left, name, kept=0):
        """What is on its way to these addresses, but for the last ones, unless another device has them by now."""
        left = [each for each in left if self.time - each["at"] < LEFT_MS]
        for each in left[: max(len(left) - kept, 0)]:
            if self.owners.get(each["sha256"]) in (None, name):
                self.withdrawals[each["sha256"]] = None
        return left[-kept:] if kept else []

    def _addresses_of(self, name):
        """Where a device is, was, or may be, unless another one has the address by now."""
        state = self.devices[name]
        known = [each["sha256"] for each in state.get("left", [])] + [reached(state)]
        return [each for each in known if each and self.owners.get(each) in (None, name)]

    def _forget(self, name):
        state = self.devices[name]
        address, last = hash_of(state), reached(state)
        self._withdraw([*state.get("left", []), *([{"sha256": last, "at": self.time}] if last else [])], name)
        self._set_device(name, None)
        if address:
            self._subscribe(address)

    def _set_device(self, name, state):
        address = hash_of(self.devices.pop(name, None))
        if self.owners.get(address) == name:
            del self.owners[address]
        if state:
            self.devices[name] = state
        if address := hash_of(state):
            self.owners[address] = name
        self.device_records.append((name, state))
        self._note(f"devices/{name}", state)

    def _set_person(self, name, state):
        self.people.pop(name, None)
        if state:
            self.people[name] = state
        self.person_records.append((name, state))
        self._note(f"people/{name}", state)

    def _note(self, resource, state):
        self.history.setdefault(resource, [(-1, None)]).append((self.offset, state))

    # Who is subscribed.

    def _devices_of(self, person):
        return in_order(name for name, state in self.devices.items() if state.get("person") == person)

    def _audiences(self, state):
        """Whom a device with an address is subscribed as, or was when it died."""
        audiences = {*state["audiences"], f"device/{reached(state)}"}
        if person := state.get("person"):
            audiences |= {f"user/{person}", *self.people.get(person, {}).get("audiences", [])}
        return audiences

    def wanted(self, address):
        """The subscriptions of the device that has this address, by key."""
        state = self.devices.get(self.owners.get(address))
        return {f"{each}|{address}": subscription(state, each) for each in self._audiences(state)} if state else {}

    def _subscribe(self, address, moved=(), since=None):
        before, after = self.subscriptions.get(address, {}), self.wanted(address)
        for key in before.keys() - after.keys():
            self.subscription_records[key] = (None, None)
        for key, value in after.items():
            if before.get(key) != value:
                is_moved = value["audience"] in moved and key not in before
                self.subscription_records[key] = (value, since if is_moved else None)
        self.subscriptions[address] = after

    # Why a command is refused.

    def _is_repeated_logout(self, command, before):
        logout = {"person": None, "whole": False}
        envelope = ("version", "by", "issued_at", "action", "device", "if_revision", "if_exists", "if_person", "unless_erased")
        rest = {name: value for name, value in command.items() if name not in envelope}
        return kind_of(command["by"]) == "user" and "person" not in before and rest == logout

    def _is_erased(self, command):
        """Whether it is by a token from before the erasure of its person."""
        author, _, name = command["by"].partition(":")
        return author == "user" and name in self.erased and command["issued_at"] <= self.erased[name]

    def _brings_back(self, command, before):
        """Whether a device gets a person or an address that was erased, and that it does not have already."""
        person, address = command.get("person"), command.get("address")
        if person in self.erased and person != (before or {}).get("person"):
            return True
        name = sha256(address["value"]) if address else None
        return name != hash_of(before) and any(name in each for each in self.erased_addresses.values())

    def _refusal_of_device(self, command, before, after):
        """In the order in which a client can mend them."""
        author, person = kind_of(command["by"]), after.get("person")
        if before and (reason := refusal_of_author(command, before, (command.get("address") or {}).get("value"))):
            return refused(reason)
        if refusal := refusal_of_condition(command, before):
            return refusal
        if command.get("unless_erased") and self._brings_back(command, before):
            return refused("person_erased")
        newest = (before or {}).get("generation")
        if newest is not None and command.get("generation", newest) < newest:
            return refused("stale_generation", generation=newest)
        if author == "sender":
            return refused("not_found")
        if author == "device" and not (before and only_reduces(command, before, after)):
            return refused("not_by_credential")
        if author == "user" and person not in (None, command["by"].removeprefix("user:")):
            return refused("not_this_device")
        shown, address = (command.get("address") or {}).get("value"), live(before)
        if author == "user" and "new_credential" in command and address and shown != address["value"]:
            return refused("not_this_device")
        return refusal_of_audiences(after["audiences"], MOST_AUDIENCES["device"])


def seen(state):
    return {name: value for name, value in state.items() if name not in UNSEEN}


def kind_of(author):
    return author.partition(":")[0]


def refused(reason, **members):
    return {"verdict": "refused", "reason": reason} | members


def refusal_of_author(command, before, shown):
    """Who may change a device: a backend, its person, whoever has its credential or shows its present address."""
    author, _, name = command["by"].partition(":")
    if author == "key":
        return None
    if author == "user":
        address = live(before)
        is_nobodys = "person" not in before and not address
        is_shown = address is not None and shown == address["value"]
        return None if before.get("person") == name or is_nobodys or is_shown else "not_this_device"
    if author == "device":
        return None if before.get("credential") == name else "not_this_device"
    return "not_found"


def only_reduces(command, before, after):
    """Whether it is what a device credential may do."""
    same = all(before.get(each) == after.get(each) for each in ("app", "environment"))
    is_other = after.get("person") not in (None, before.get("person"))
    return same and not is_other and set(after["audiences"]) <= set(before["audiences"]) and "new_credential" not in command


def refusal_of_condition(command, before):
    person = (before or {}).get("person")
    if command.get("if_person", person) != person:
        return refused("not_found")
    revision = before["revision"] if before else None
    holds = command.get("if_revision", revision) == revision and command.get("if_exists", before is not None) == (
        before is not None
    )
    if holds:
        return None
    return refused("precondition_failed", **({"revision": revision} if before else {}))


def refusal_of_audiences(audiences, most):
    if len(audiences) > most:
        return refused("too_many_audiences", most=most)
    is_allowed = all(each.startswith(("place/", "channel/")) for each in audiences)
    return None if is_allowed else refused("invalid")


def iso(milliseconds):
    moment = datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}Z"


def subscription(state, audience):
    """The value of the record that subscribes a device."""
    address = live(state)
    platform, kind = KINDS[address["kind"]]
    members = {"audience": audience, "token": address["value"], "platform": platform, "address_kind": kind}
    members |= {each: state.get(each) for each in ("app", "environment", "locale")}
    members |= {"registered_at": iso(address["since"]), "last_seen_at": iso(state["refreshed_at"])}
    return {name: value for name, value in members.items() if value is not None}
