"""The figures of `Scripts/bench --peers` as the tables of docs/sizing.md."""

from chart import NAMES


def throughput_table(results):
    """The medians; and how many times a program's events carillon has, and which part of its CPU, in the rounds' own ratios."""
    yield "| | events/s | pushes/s | µs CPU an event | peak MB | Carillon's events/s to it | Carillon's CPU to it |"
    yield "|---|---|---|---|---|---|---|"
    ratios = {(row["to"], row["workers"]): row for row in results["ratios"]}
    for workers in sorted({row["workers"] for row in results["throughput"]}):
        for name in NAMES:
            for row in results["throughput"]:
                if (row["program"], row["workers"]) == (name, workers):
                    to = ratios.get((name, workers))
                    yield line(
                        f"{NAMES[name]}; {workers} worker{'s' if workers > 1 else ''}",
                        f"{row['rate']:,.0f}",
                        f"{3 * row['rate']:,.0f}",
                        f"{row['cpu']:.1f}",
                        f"{row['peak']:.0f}",
                        between(to["rate"]) if to else "",
                        between(to["cpu"]) if to else "",
                    )


def between(ratio):
    """A median with its interval."""
    return "{:.2f} ({:.2f} to {:.2f})".format(*ratio)


def latency_table(results):
    """p50/p99/longest of each program: at the rates that all have, and at one of its own."""
    rows = results["latency"]
    names = [name for name in NAMES if any(row["program"] == name for row in rows)]
    shared = set.intersection(*({row["rate"] for row in rows if row["program"] == name} for name in names))
    columns = sorted({(row["rate"], row["interval_ms"]) for row in rows if row["rate"] in shared})
    own = sorted({row["interval_ms"] for row in rows if row["rate"] not in shared})
    heads = [f"{rate:,}/s, {interval} ms" for rate, interval in columns]
    heads += [f"{results['share'] * 100:.0f} % of its most, {interval} ms" for interval in own]
    yield line("", *heads)
    yield "|---|" + "---|" * len(heads)
    for name in names:
        mine = [row for row in rows if row["program"] == name]
        cells = {(row["rate"], row["interval_ms"]): times(row) for row in mine if row["rate"] in shared}
        shares = {row["interval_ms"]: f"{times(row)}, at {row['rate']:,}/s" for row in mine if row["rate"] not in shared}
        yield line(NAMES[name], *(cells[column] for column in columns), *(shares[interval] for interval in own))


def times(row):
    return f"{row['p50']:.0f}/{row['p99']:.0f}/{row['most']:.0f}"


def line(*cells):
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"
