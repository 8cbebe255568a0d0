"""What a provider got of the pushes that commands about devices and people withdraw: a logout, another login, an erasure."""

import collections

# How long after the answer a request may still begin, in milliseconds: a second, and what the clocks and the machine add.
SOON = 1_500


def check_pushes(dispatched, outcomes, requests, answered, decisions, report):
    """Nothing that a command withdraws begins later than `SOON` after its answer, and all else is sent.

    `dispatched` are the dispatch records; `outcomes` and `requests` are by message id and device; `answered` has by the offset of a
    command when a client was told that it is done, in seconds since 1970.
    """
    withdrawn = collections.defaultdict(list)
    for offset, decision in decisions.decided.items():
        for address, audiences in decision.withdrawals.items():
            withdrawn[address].append((offset, audiences))
    for record in dispatched:
        device, headers = record.key.decode(), {name: value.decode() for name, value in record.headers if value is not None}
        name = headers["message-id"], device
        ends = [
            answered.get(offset, float("inf")) * 1000
            for offset, audiences in withdrawn[device]
            if offset > int(headers["command"]) and (audiences is None or headers["audience"] in audiences)
        ]
        if outcomes[name] != "accepted" and not (ends and outcomes[name] == "cancelled"):
            report.add("a push that nobody withdraws was not sent", f"{record.source} {name}: {outcomes[name]}")
        late = [each for each in requests.get(name, ()) if each.time > min(ends, default=float("inf")) + SOON]
        if late:
            report.add("a push is sent after its device was told to be logged out", f"{record.source} {name}: {late}, told {ends}")
