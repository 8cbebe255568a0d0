"""Draws the README's pictures, readable on light and on dark pages: docs/flow.svg, from an order event to a phone, and
docs/speed.svg, the events a second of docs/peers.json.

`.build/python/bin/python Tests/Documentation/picture.py` writes them; a test compares.
"""

import json
import sys
from html import escape

from program import ROOT

sys.path.append(str(ROOT / "Benchmarks"))
from chart import draw as draw_chart  # noqa: E402
from chart import speed  # noqa: E402

WIDTH, HEIGHT = 920, 356

STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .name { font-weight: 600; }
    .group { font-size: 12px; fill: #59636e; }
    .small { font-size: 11.5px; fill: #59636e; }
    .topic { font: 11.5px ui-monospace, monospace; }
    .around { fill: none; stroke: #afb8c1; stroke-dasharray: 5 4; }
    .box { fill: #f6f8fa; stroke: #afb8c1; }
    .ours { fill: #ddf4ff; stroke: #0969da; }
    .log { fill: #ffffff; stroke: #afb8c1; }
    .cells { stroke: #d1d9e0; }
    .arrow { fill: none; stroke: #59636e; stroke-width: 1.6; marker-end: url(#head); }
    .head { fill: #59636e; }
    .phone { fill: #1f2328; } .screen { fill: #ddf4ff; } .push { fill: #ffffff; stroke: #0969da; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .group, .small { fill: #9198a1; }
      .around { stroke: #656c76; }
      .box { fill: #151b23; stroke: #656c76; }
      .ours { fill: #0c2d6b; stroke: #4493f8; }
      .log { fill: #0d1117; stroke: #656c76; }
      .cells { stroke: #3d444d; }
      .arrow { stroke: #9198a1; } .head { fill: #9198a1; }
      .phone { fill: #656c76; } .screen { fill: #0d1117; } .push { fill: #151b23; stroke: #4493f8; }
    }
"""

ALT = (
    "Your services write order events and subscriptions to your Kafka. carillon run reads both and writes one push for each "
    "device to notifications.dispatch, in one transaction. carillon deliver sends the pushes to FCM and APNs, which show them "
    "on phones, and writes what became of each to notifications.deliveries. carillon explain reads the topics and says why a "
    "device did or did not get a push."
)


def text(x, y, words, kind="", anchor="start"):
    return f'  <text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x, y, width, height, kind):
    return f'  <rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>'


def arrow(path):
    return f'  <path class="arrow" d="{path}"/>'


def part(x, y, width, name, lines):
    """One of ours: its command, and what it does."""
    yield box(x, y, width, 34 + 17 * len(lines), "ours")
    yield text(x + width / 2, y + 22, name, "name", "middle")
    for index, line in enumerate(lines):
        yield text(x + width / 2, y + 41 + 17 * index, line, "small", "middle")


def topic(x, y, name):
    """A topic: a log whose records are at its right end."""
    width = 206
    yield f'  <rect class="log" x="{x}" y="{y}" width="{width}" height="26" rx="3"/>'
    yield "".join(f'  <path class="cells" d="M{x + width - 5 * n} {y + 1}v24"/>' for n in (1, 2))
    yield text(x + 8, y + 17, name, "topic")


def phone(x, y):
    yield f'  <rect class="phone" x="{x}" y="{y}" width="118" height="206" rx="16"/>'
    yield f'  <rect class="screen" x="{x + 6}" y="{y + 8}" width="106" height="190" rx="10"/>'
    yield f'  <rect class="push" x="{x + 11}" y="{y + 36}" width="96" height="58" rx="8"/>'
    for index, (words, kind) in enumerate((("Your shop", "group"), ("Order A-17", "name"), ("is ready", ""))):
        yield text(x + 19, y + 53 + 16 * index, words, kind)


def flow():
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'aria-labelledby="title desc">',
        '  <title id="title">From an order event to a phone</title>',
        f'  <desc id="desc">{escape(ALT)}</desc>',
        f"  <style>{STYLE}  </style>",
        '  <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0l8 4l-8 4z"/></marker></defs>',
        box(8, 52, 118, 76, "box"),
        text(67, 84, "your services", "name", "middle"),
        text(67, 104, "shop, backend", "small", "middle"),
        box(160, 12, 502, 122, "around"),
        text(172, 32, "your Kafka", "group"),
        *topic(176, 48, "orders.events"),
        *topic(176, 88, "notifications.subscriptions"),
        *topic(436, 48, "notifications.deliveries"),
        *topic(436, 88, "notifications.dispatch"),
        box(160, 166, 502, 178, "around"),
        text(172, 186, "Carillon", "group"),
        *part(176, 200, 206, "carillon run", ["finds the devices, writes", "one push for each"]),
        *part(436, 200, 206, "carillon deliver", ["sends, tries again,", "writes what became of it"]),
        *part(176, 284, 466, "carillon explain", ["why a device did, or did not, get a push"]),
        arrow("M126 72H150V61H172"),
        arrow("M126 108H150V101H172"),
        arrow("M279 134V196"),
        arrow("M382 234H408V101H432"),
        arrow("M530 114V196"),
        arrow("M642 214H652V61H646"),
        box(692, 176, 66, 34, "box"),
        text(725, 198, "FCM", "name", "middle"),
        box(692, 258, 66, 34, "box"),
        text(725, 280, "APNs", "name", "middle"),
        arrow("M642 226H668V193H688"),
        arrow("M642 242H668V275H688"),
        arrow("M758 193H792"),
        arrow("M758 275H792"),
        *phone(796, 130),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def pictures():
    """What each file has."""
    yield ROOT / "docs/flow.svg", flow()
    yield ROOT / "docs/speed.svg", draw_chart(json.loads((ROOT / "docs/peers.json").read_text()), speed)


if __name__ == "__main__":
    for path, content in pictures():
        path.write_text(content)
