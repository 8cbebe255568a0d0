"""Which partition a key belongs to."""

import functools


@functools.lru_cache(maxsize=None)
def murmur2_partition(key, count):
    """The partition that a Java client gives a key."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if tail := key[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return ((h ^ h >> 15) & 0x7FFFFFFF) % count
