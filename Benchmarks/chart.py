"""Draws the figures of `Scripts/bench --peers` as SVG, which is readable on light and on dark pages."""

from html import escape

WIDTH, LABELS, BAR, GAP, HEAD = 760, 190, 16, 5, 34
# The bars of the longest value end here, and the values follow.
LONGEST = WIDTH - LABELS - 130

NAMES = {
    "limit": "limit: C, moves bytes only",
    "carillon": "Carillon",
    "streams": "Kafka Streams",
    "streams-500": "Kafka Streams, 500 ms",
    "python": "confluent-kafka, orjson",
}

STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .head { font-weight: 600; font-size: 14px; }
    .limit { fill: #afb8c1; } .carillon { fill: #0969da; } .streams, .streams-500 { fill: #bc4c00; } .python { fill: #1a7f37; }
    .faint { fill-opacity: 0.45; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .limit { fill: #6e7681; } .carillon { fill: #4493f8; } .streams, .streams-500 { fill: #f0883e; } .python { fill: #3fb950; }
    }
"""


class Panel:
    """Bars below a heading. `rows` are (program, label, value, text, part of the bar that is drawn faintly behind it)."""

    def __init__(self, heading):
        self.heading, self.rows = heading, []

    def add(self, program, label, value, text, behind=0):
        self.rows.append((program, label, value, text, behind))

    @property
    def height(self):
        return HEAD + len(self.rows) * (BAR + GAP) + 12

    def draw(self, top):
        yield f'  <text class="head" x="8" y="{top + 22}">{escape(self.heading)}</text>'
        scale = LONGEST / max(max(value, behind) for _, _, value, _, behind in self.rows)
        for index, (program, label, value, text, behind) in enumerate(self.rows):
            y = top + HEAD + index * (BAR + GAP)
            yield f'  <text x="{LABELS - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>'
            if behind:
                yield bar(program + " faint", y, behind * scale)
            yield bar(program, y, value * scale)
            end = LABELS + max(value, behind) * scale
            yield f'  <text x="{end + 6:.0f}" y="{y + 13}">{escape(text)}</text>'


def bar(classes, y, width):
    return f'  <rect class="{classes}" x="{LABELS}" y="{y}" width="{max(width, 1):.1f}" height="{BAR}" rx="2"/>'


def panels(results):
    for workers in sorted({row["workers"] for row in results["throughput"]}):
        rows = [row for row in results["throughput"] if row["workers"] == workers]
        of = "1 worker" if workers == 1 else f"{workers} workers"
        yield amount(f"Events a second, {of}; three pushes each", rows, "rate", "{:,.0f}")
        yield amount(f"CPU for an event, {of}", rows, "cpu", "{:.1f} µs")
        yield amount(f"Most memory, {of}", rows, "peak", "{:.0f} MB")
    fixed = {row["rate"] for row in results["latency"]}
    fixed = {rate for rate in fixed if all(any(row["rate"] == rate for row in of) for of in by_program(results["latency"]))}
    for rate in sorted(fixed):
        panel = Panel(f"From append to visible at {rate:,} events a second: half within, and 99 % within")
        for row in (row for of in by_program(results["latency"]) for row in of):
            if row["rate"] == rate:
                label = f"{short(row['program'])}, {row['interval_ms']} ms"
                panel.add(row["program"], label, row["p50"], f"{row['p50']:.0f} ms, {row['p99']:.0f} ms", row["p99"])
        yield panel


def by_program(rows):
    return [[row for row in rows if row["program"] == name] for name in NAMES if any(row["program"] == name for row in rows)]


def short(name):
    return NAMES[name].partition(":")[0].partition(",")[0]


def amount(heading, rows, field, form):
    panel = Panel(heading)
    for name in NAMES:
        for row in rows:
            if row["program"] == name:
                panel.add(name, NAMES[name].partition(":")[0], row[field], form.format(row[field]))
    return panel


def describe(found):
    """What the bars say, for those who do not see them."""
    return " ".join(
        f"{panel.heading}: " + "; ".join(f"{label} {text}" for _, label, _, text, _ in panel.rows) + "." for panel in found
    )


def speed(results):
    """The panels of the README: events a second, and nothing else."""
    return [panel for panel in panels(results) if panel.heading.startswith("Events a second")]


def draw(results, choose=panels):
    found = list(choose(results))
    machine, events = results["machine"], results["events"]
    note = (
        f"{machine['cpus']} cores with the broker on them, Kafka {results['kafka'] or 'of others'}, events of {events['bytes']:,} "
        f"bytes, {events['partitions']} partitions; medians."
    )
    height = sum(panel.height for panel in found) + 60
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        'aria-labelledby="title desc">',
        '  <title id="title">Carillon beside Kafka Streams, a Python program and the limit of the machine</title>',
        f'  <desc id="desc">{escape(describe(found))}</desc>',
        f"  <style>{STYLE}  </style>",
    ]
    top = 8
    for panel in found:
        lines += panel.draw(top)
        top += panel.height
    lines += [
        f'  <text x="8" y="{top + 14}">{escape(note)}</text>',
        f'  <text x="8" y="{top + 34}">{escape(results["command"])}</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
