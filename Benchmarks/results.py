"""The results of the benchmarks as JSON: one shape for those of the pipeline."""

import json
import os
import pathlib
import re
import sys

from figures import median, ratio
from harness.waiting import Failure


def about(options):
    """The command that repeats the run, the events and the machine."""
    memory = re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]
    processor = re.search(r"model name\s+: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {
        "command": repeating(os.environ.get("BENCH", ""), sys.argv[1:]),
        "machine": {
            "cpus": os.cpu_count(),
            "processor": processor[1] if processor else os.uname().machine,
            "memory_gb": round(int(memory) / 2**20),
            # Of others, if the machine was not quiet: processes that could run when the benchmark began.
            "load": os.getloadavg()[0],
        },
        "kafka": kafka_version(),
        "events": {
            "bytes": options.bytes,
            "partitions": options.partitions,
            "places": options.places,
        },
    }


def repeating(what, arguments):
    """The command that measures the same; where the results are written does not matter."""
    kept = [each for before, each in zip(["", *arguments], arguments) if not {before, each} & {"--json", "--chart"}]
    return " ".join(["Scripts/bench", *filter(None, [what]), *kept])


def kafka_version():
    """Of the broker that the benchmark has started; None of another one."""
    found = sorted(pathlib.Path(os.environ.get("KAFKA_HOME", "/none"), "libs").glob("kafka-clients-*.jar"))
    return found[0].stem.removeprefix("kafka-clients-") if found else None


def throughput(found, workers):
    """Rows of every program's runs and medians."""
    return [
        {"program": name, "workers": workers} | median(rows)._asdict() | {"runs": [row._asdict() for row in rows]}
        for name, rows in found.items()
    ]


def ratios(found, workers, mine):
    """How many times the events, and which part of the CPU, `mine` has of each other: [median, low, high]."""

    def between(rows, field):
        return list(ratio([getattr(row, field) for row in found[mine]], [getattr(row, field) for row in rows]))

    return [
        {"program": mine, "to": name, "workers": workers, "rate": between(rows, "rate"), "cpu": between(rows, "cpu")}
        for name, rows in found.items()
        if name != mine
    ]


def latencies(found):
    """Rows of every program's runs and medians; `found` by (program, interval, rate)."""
    return [
        {"program": name, "interval_ms": interval, "rate": rate}
        | median(rows)._asdict()
        | {"runs": [row._asdict() for row in rows]}
        for (name, interval, rate), rows in found.items()
    ]


def tell(as_json, measure, show, targets):
    """Prints what was measured and whether the targets are met, as a table or as JSON; the exit code."""
    try:
        found = measure()
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    wanted = list(targets(found))
    if as_json:
        judged = {"targets": [each._asdict() | {"is_met": each.is_met} for each in wanted]}
        print(json.dumps(found | judged, indent=2, ensure_ascii=False))
    else:
        show(found)
        for each in wanted:
            print(each)
    return 0


def write(results, path):
    if path:
        path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
