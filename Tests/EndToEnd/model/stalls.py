"""How long readers of the output had to wait for a transaction that nobody ended (I10)."""


def longest_stall(samples):
    """The longest time in seconds for which a last stable offset stayed below the end of its partition without moving,
    and that partition.

    Samples are (time, offsets) with (last stable offset, end) by partition. Without offsets a broker was away, and the count
    starts again: nobody can end a transaction then.
    """
    longest, where, since = 0.0, None, {}
    for time, offsets in samples:
        if offsets is None:
            since.clear()
            continue
        for partition, (stable, end) in offsets.items():
            if stable >= end:
                since.pop(partition, None)
                continue
            stood, began = since.get(partition, (None, None))
            if stood != stable:
                since[partition] = (stable, time)
            elif time - began > longest:
                longest, where = time - began, partition
    return longest, where


def check_stalls(samples, limit, report):
    """The longest stall in seconds; a difference where it is above the limit."""
    longest, where = longest_stall(samples)
    if longest > limit:
        report.add("last stable offset stalls (I10)", f"{where}: {longest:.1f} s, the limit is {limit:.1f} s")
    return longest
