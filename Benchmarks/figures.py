"""What the benchmarks compute from what they have measured."""

import random
import statistics
from typing import NamedTuple

from harness.waiting import Failure

RESAMPLES = 2_000


class Figures(NamedTuple):
    """Of one run: events a second, µs of CPU an event, and the most MB of resident memory."""

    rate: float
    cpu: float
    peak: float


class Latency(NamedTuple):
    """Of one run: milliseconds from an event's append until its pushes are visible, and by how many the latest event was sent
    after it was due."""

    p50: float
    p99: float
    most: float
    late: float


class Target(NamedTuple):
    """A figure and what it is to be; `is_least` where more is better."""

    name: str
    found: float
    wanted: float
    is_least: bool

    @property
    def is_met(self):
        return self.found >= self.wanted if self.is_least else self.found <= self.wanted

    def __str__(self):
        bound = "≥" if self.is_least else "≤"
        return f"{'met' if self.is_met else 'MISSED':6}  {self.name}: {self.found:,.4g} ({bound} {self.wanted:,.4g})"


class Ratio(NamedTuple):
    """A median of ratios, and the interval that contains it with a probability of 95 %."""

    median: float
    low: float
    high: float

    def __str__(self):
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def crossing(samples, at):
    """(time, CPU) when the committed events passed `at`, between two samples."""
    for (t0, n0, c0), (t1, n1, c1) in zip(samples, samples[1:]):
        if n0 <= at <= n1 and n1 > n0:
            share = (at - n0) / (n1 - n0)
            return t0 + share * (t1 - t0), c0 + share * (c1 - c0)
    raise Failure(f"no sample around {at:,} events")


def figures(samples, events, peak):
    """From samples of (time, committed events, CPU seconds): what was done between 10 % and 95 % of the events."""
    first, last = events // 10, events * 95 // 100
    (t0, c0), (t1, c1) = crossing(samples, first), crossing(samples, last)
    return Figures((last - first) / (t1 - t0), (c1 - c0) / (last - first) * 1e6, peak)


def percentile(counts, share):
    """The least value that has at least this share of the counts at or below it; `counts` by value."""
    rest = share * sum(counts.values())
    for value in sorted(counts):
        rest -= counts[value]
        if rest <= 0:
            return value
    raise Failure("nothing was counted")


def latency(counts, late):
    """From the number of events by milliseconds."""
    return Latency(percentile(counts, 0.5), percentile(counts, 0.99), max(counts), late)


def median(rows):
    """Of each column."""
    return type(rows[0])(*map(statistics.median, zip(*rows)))


def ratio(ones, others):
    """The median of the rounds' own ratios, as the machine's speed drifts between rounds; the interval by bootstrap."""
    ratios = [one / other for one, other in zip(ones, others, strict=True)]
    chance = random.Random(0)
    drawn = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return Ratio(statistics.median(ratios), drawn[RESAMPLES * 25 // 1000], drawn[RESAMPLES * 975 // 1000 - 1])
