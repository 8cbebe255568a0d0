"""Whether the table of a process is the fold of its topic (I6)."""

import hashlib


def table_digest(subscriptions, position):
    """What `carillon table check` must print of a table that has applied the records below the position"""
    total = count = 0
    for audience in subscriptions.audiences():
        audience_hash = hashlib.sha256(audience.encode()).hexdigest()[:32]
        for device in subscriptions.at(audience, position):
            last_seen = "-" if device.last_seen is None else device.last_seen
            line = f"{audience_hash} {device.token_hash} {device.kind} {device.environment} {last_seen} {device.app} {device.token}"
            total ^= int(hashlib.sha256(line.encode()).hexdigest(), 16)
            count += 1
    return count, f"{total:064x}"


def check_table(found, name, subscriptions, report):
    """Compares what `carillon table check --json` says about the table of a process with the fold of its topic."""
    if not found["complete"]:
        # It was killed while it was filled, and the next start begins again.
        if found["offsets"] and all(found["offsets"][partition] == end for partition, end in subscriptions.ends.items()):
            report.add("table at the end of its topic is not complete (I6)", f"{name}: {found['offsets']}")
        return
    # The table of a process that was killed before it had applied anything has no offsets.
    position = found["offsets"] or [0] * (max(subscriptions.ends, default=-1) + 1)
    if any(not 0 <= position[partition] <= end for partition, end in subscriptions.ends.items()):
        report.add("table outside its topic (I6)", f"{name}: {position}, the topic ends at {subscriptions.ends}")
        return
    count, digest = table_digest(subscriptions, position)
    if (found["devices"], found["digest"]) != (count, digest):
        report.add(
            "table is not the fold (I6)",
            f"{name} at {position}: {found['devices']} devices, {found['digest'][:16]}…, expected {count}, {digest[:16]}…",
        )
