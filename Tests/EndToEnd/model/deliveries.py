"""Whether every push has one outcome, and what the provider saw agrees with it: from the dispatch records, the provider's own log,
the outcomes and the lanes' committed offsets alone."""

import collections
import itertools
import json
from dataclasses import dataclass, field

from model.pushes import lane_offset, note_same_keys, push_of
from model.report import Report

LONGEST_LIFE = 2_419_200
# The causes of a missing answer (docs/rules.md, section 11.3).
CAUSES = {"dns", "refused", "unreachable", "proxy", "tls_name", "tls_expired", "tls_authority", "tls", "http1_only"}
CAUSES |= {"timeout", "reset", "stream_reset", "too_long"}
NO_ANSWER = {"no_answer", *(f"no_answer:{cause}" for cause in CAUSES)}
# Reasons of the sender's own, with which nothing was sent.
OWN_REASONS = {"no_credential", "unreadable_record"}


@dataclass
class DeliveryRun:
    """What was found after a run that has ended, with nothing left to do."""

    topic: str
    dispatch: list
    deliveries: list
    # In the order of the log.
    requests: list
    # (offset, metadata) by provider, and by topic and partition: of the dispatch topic and the retry topics.
    commits: dict
    # The last stable offset of each of these, once everything was finished. A coordinator may write markers later.
    ends: dict
    # The retry topics' records, where some may still wait.
    waiting: list = field(default_factory=list)
    # The sum of what the processes say may have been sent twice.
    possibly_twice: int = 0
    # Periods in milliseconds since 1970 between the last time that a process said so and its end.
    unsaid: list = field(default_factory=list)
    # Periods in milliseconds since 1970 in which a process died, was frozen or lost its partitions.
    disturbances: list = field(default_factory=list)
    # (count, from, until): between these times in milliseconds since 1970 each provider cut a connection off at every so many of
    # all the requests that it ever got. Its log does not have the one at which it did.
    cut_offs: list = field(default_factory=list)
    # delivery.give-up, and the longest time from a failure to its retry.
    give_up: int = 3_600_000
    longest_wait: int = 15_000
    # From the decision to send until the provider has the whole request.
    tolerance: int = 4_000
    # From an answer until it is committed.
    uncommitted: int = 2_000

    def is_disturbed(self, start, end):
        return any(first <= end and last >= start for first, last in self.disturbances)

    def may_be_given_up(self, push, later):
        """Whether a push may have been given up before a later request: for its age, or because its next attempt would come after
        its expiry."""
        failed = [each for each in push.requests if each.place < later.place]
        return later.time >= push.timestamp + self.give_up or any(each.time + self.longest_wait >= push.expires for each in failed)

    def is_unsaid(self, time):
        return any(first <= time <= last for first, last in self.unsaid)


def verify_deliveries(run):
    report = Report()
    pushes = {(each.partition, each.offset): each for each in map(push_of, run.dispatch)}
    _take_requests(pushes.values(), run, report)
    note_same_keys(pushes.values())
    _take_outcomes(pushes, run, report)
    cuts = _cuts_of_apns(run)
    for push in pushes.values():
        _check_outcome(push, run, report)
        for request in push.requests:
            _check_request(push, request, run, report)
        _check_advice(push, run, cuts, report)
    _check_order(pushes.values(), run, report)
    again = [each for push in pushes.values() for each in [each for each in push.requests if each.is_accepted][1:]]
    twice, said = len(again), [each for each in again if not run.is_unsaid(each.time)]
    if len(said) > run.possibly_twice:
        report.add("more sent twice than said", f"{len(said):,} were accepted again, {run.possibly_twice:,} may have been")
    _check_offsets(pushes, run, report)
    outcomes = collections.Counter(push.outcome for push in pushes.values())
    report.counts |= {"pushes": len(pushes), "requests": len(run.requests), "accepted again": twice}
    report.counts |= {name: outcomes[name] for name in sorted(filter(None, outcomes))}
    faults = collections.Counter(f"faults {each.fault}" for each in run.requests if each.fault)
    report.counts |= dict(sorted(faults.items()))
    return report


def verify_one_outcome(topic, dispatch, deliveries):
    """Whether each record of a dispatch topic has one outcome, whoever has sent it: from the two topics alone."""
    report = Report()
    counts = collections.Counter(
        (value["partition"], value["offset"])
        for value in map(json.loads, (each.value for each in deliveries))
        if value["topic"] == topic
    )
    for partition, offset in [(each.partition, each.offset) for each in dispatch]:
        count = counts.pop((partition, offset), 0)
        if count != 1:
            report.add("two outcomes" if count else "no outcome", f"{topic}/{partition}/{offset}")
    for partition, offset in counts:
        report.add("an outcome of no push", f"{topic}/{partition}/{offset}")
    report.counts = {f"records of {topic}": len(dispatch)}
    return report


def _take_requests(pushes, run, report):
    found = {(push.device, push.message): push for push in pushes}
    for request in run.requests:
        push = found.get((request.device, request.message))
        if push:
            push.requests.append(request)
        else:
            report.add("a request for no push", f"line {request.place}: {request.provider} {request.status} {request.reason}")


def _take_outcomes(pushes, run, report):
    for record in run.deliveries:
        value = json.loads(record.value)
        push = pushes.get((value["partition"], value["offset"])) if value["topic"] == run.topic else None
        if not push:
            report.add("an outcome of no push", f"{record.source}: {value['topic']}/{value['partition']}/{value['offset']}")
            continue
        push.outcomes.append((record, value))
        if record.partition != push.partition or record.key.decode() != push.device:
            report.add("an outcome at a wrong place", f"{push.name}: {record.source}")
        wanted = {"message_id": push.message, "device": push.device, "platform": push.platform}
        if {name: value.get(name) for name in wanted} != wanted:
            report.add("an outcome with other members", f"{push.name}: {value}")
        if push.token in record.value.decode():
            report.add("a token in an outcome", push.name)


def _check_outcome(push, run, report):
    if len(push.outcomes) != 1:
        if push.outcomes:
            report.add("two outcomes", f"{push.name}: {[value['outcome'] for _, value in push.outcomes]}")
        elif not any(dict(each.headers)["message-id"].decode() == push.message for each in run.waiting):
            report.add("no outcome", push.name)
        return
    record, value = push.outcomes[0]
    answers = [each for each in push.requests if each.is_final]
    # A push whose end was not committed when its process died may end in another way.
    is_undone = push.requests and run.is_disturbed(push.requests[0].time, record.timestamp)
    said = f"{push.name}: {value}; the provider's answers: {[(each.status, each.fault) for each in push.requests]}"
    match value["outcome"]:
        case "accepted":
            if not any(each.is_accepted and each.id == value.get("provider_id") for each in answers):
                report.add("accepted, but not by the provider", said)
        case "dead_device":
            if not any(each.is_dead and (each.status, each.reason) == (value["status"], value["reason"]) for each in answers):
                report.add("dead, but not by the provider", said)
        case "refused":
            is_own = value["reason"] in OWN_REASONS and not push.requests
            if not is_own and not any(each.is_refused and each.reason == value["reason"] for each in answers):
                report.add("refused, but not by the provider", said)
        case "expired":
            if push.requests and not is_undone:
                report.add("expired, but sent", said)
            if record.timestamp < push.expires:
                report.add("expired too early", f"{said}, written at {record.timestamp}")
            _check_reason(push, value, said, report)
        case "gave_up":
            # An answer that was on its way when its connection was cut off, for another request's sake, came to nobody: it was
            # sent again, or given up for want of an answer.
            is_answered = push.requests and push.requests[-1].is_final
            if is_answered and not is_undone and value.get("reason", "no_answer") not in NO_ANSWER:
                report.add("given up after an answer", said)
            # One that has only waited behind others was never sent.
            if "reason" not in value and value["attempts"]:
                report.add("given up without a reason", said)
            _check_reason(push, value, said, report)
            if record.timestamp < min(push.expires - run.longest_wait, push.timestamp + run.give_up):
                report.add("given up too early", f"{said}, written at {record.timestamp}")
        case "superseded":
            if answers and not is_undone:
                report.add("superseded after an answer", said)
            if not push.has_newer_with_its_key(record.timestamp):
                report.add("superseded by no newer push", said)
        # Of broadcasts alone, which have a topic of their own.
        case "cancelled":
            report.add("cancelled, and no broadcast", said)
        case other:
            report.add("an unknown outcome", f"{push.name}: {other}")


def _check_reason(push, value, said, report):
    """An end without an answer that ends a push says the last failure: one that the provider told, or that it told nothing."""
    reason = value.get("reason", "no_answer")
    if reason not in NO_ANSWER and reason not in {each.code for each in push.requests}:
        report.add("a reason that nobody gave", said)


def _check_request(push, request, run, report):
    said = f"{push.name}: line {request.place}"
    if request.provider != push.platform:
        report.add("sent to the other provider", said)
    if request.time > push.expires + run.tolerance:
        report.add("sent after its expiry", f"{said}, {request.time - push.expires} ms late")
    if push.lifetime is not None:
        if request.lifetime != push.lifetime:
            report.add("another lifetime", f"{said}: {request.lifetime}, expected {push.lifetime}")
    else:
        seconds = int(request.lifetime.removesuffix("s"))
        left = push.expires - request.time
        low, high = (min(max(each, 0) // 1000, LONGEST_LIFE) for each in (left, left + run.tolerance))
        if not low <= seconds <= high:
            report.add("another lifetime", f"{said}: {request.lifetime}, {left} ms are left")
    if request.body != push.body:
        report.add("another message", said)
    if (push.id is not None and request.id != push.id) or request.collapse != push.collapse:
        report.add("another id", f"{said}: {request.id} {request.collapse}, expected {push.id} {push.collapse}")


def _cuts_of_apns(run):
    """When connections were cut off: at a request that met this fault, and at one of so many, just after the one before it."""
    cuts, count = [], 0
    for request in run.requests:
        if request.provider == "apns":
            count += 1
            if request.fault == "reset":
                cuts.append(request.time)
            if any((count + 1) % every == 0 and first <= request.time <= last for every, first, last in run.cut_offs):
                cuts.append(request.time)
                count += 1
    return cuts


def _check_advice(push, run, cuts, report):
    """What APNs answers with 5xx is tried again after the longest delay, 15 minutes if nobody hurries, if it lives and is tried so
    long."""
    if push.platform != "apns":
        return
    for failed, again in itertools.pairwise(push.requests):
        end = min(push.expires, push.requests[0].time + run.give_up)
        is_advised = failed.status >= 500 and failed.time + run.longest_wait + run.tolerance < end
        # An answer on a connection that is cut then may not have arrived; the log can have the cut some ms before it.
        is_read = not run.is_disturbed(failed.time, again.time) and not any(-100 < each - failed.time < 1_000 for each in cuts)
        if is_advised and again.time < failed.time + run.longest_wait and is_read:
            report.add("tried again before APNs advises", f"{push.name}: lines {failed.place}, {again.place}")


def _check_order(pushes, run, report):
    """No newer push of a device before an older one has ended, and none of an older one after that."""
    for _, group in itertools.groupby(sorted(pushes, key=_by_device), key=lambda push: push.device):
        ordered = list(group)
        for newer in range(1, len(ordered)):
            if ordered[newer].requests:
                for older in ordered[:newer]:
                    _check_pair(older, ordered[newer], run, report)


def _by_device(push):
    return push.device, push.partition, push.offset


def _check_pair(older, newer, run, report):
    first = newer.requests[0]
    late = [each for each in older.requests if each.place > first.place]
    # Only what a dead process had not committed is done again.
    if any(not run.is_disturbed(first.time, each.time) for each in late):
        report.add("an older push after a newer one", f"{older.name} after {newer.name}: lines {late[0].place}, {first.place}")
        return
    if any(each.is_final and each.place < first.place for each in older.requests):
        return
    # It ended without an answer. If it is sent later all the same, that end was lost with its process.
    if late:
        is_over = any(each.place < first.place for each in older.requests)
    else:
        is_over = older.outcome in ("gave_up", "refused", "superseded")
        # Given up by a process that died before it had committed that: by then it had expired.
        if older.outcome == "expired" and run.may_be_given_up(older, first):
            is_over = run.is_disturbed(first.time, older.outcomes[0][0].timestamp)
    is_over = is_over or first.time >= older.expires - run.tolerance
    if not is_over:
        report.add("a newer push before an older one", f"{newer.name} before {older.name}: line {first.place}, {older.outcome}")


def _check_offsets(pushes, run, report):
    """What a lane has finished has an outcome, and everything is finished."""
    waiting = {(each.partition, dict(each.headers)["message-id"].decode()) for each in run.waiting}
    for lane, commits in run.commits.items():
        offsets = {}
        for (topic, partition), (offset, metadata) in commits.items():
            place = f"{lane} of {topic}/{partition}"
            found = lane_offset(offset, metadata)
            if found is None:
                report.add("no offset of a sender", f"{place}: {offset} '{metadata}'")
                continue
            if topic == run.topic:
                offsets[partition] = found
            if found.offset < run.ends[topic, partition] or any(found.bits):
                report.add("not at the end", f"{place}: {offset} of {run.ends[topic, partition]}, '{metadata}'")
            if not found.is_clean:
                report.add("not clean at the end", f"{place}: '{metadata}'")
        for push in pushes.values():
            if push.platform != lane or push.partition not in offsets or push.outcomes:
                continue
            if offsets[push.partition].has_finished(push.offset) and (push.partition, push.message) not in waiting:
                report.add("finished without an outcome", push.name)
