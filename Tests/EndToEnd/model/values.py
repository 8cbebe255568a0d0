"""How the values of an event are read: texts, times, dates and time slots (section 5.2).

A value that cannot be read is None, so that the next source of the same field counts.
"""

import datetime
import re

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?", re.ASCII)
_MERIDIEM = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\.?", re.ASCII | re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_DATETIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII | re.IGNORECASE
)
_RANGE = re.compile(r"(.+?)(?:\s*[-–—/]\s*|\s+to\s+)(.+)", re.IGNORECASE)
_BARE_HOUR = re.compile(r"(\d{1,2})(?::(\d{2}))?", re.ASCII)


def text(value):
    """A text field: trimmed; None for null, blank, booleans, objects and arrays; numbers as JavaScript prints them."""
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value).strip() or None


def _epoch(value):
    """Milliseconds of an epoch number or digit string, else None."""
    if isinstance(value, str) and re.fullmatch(r"\d{10}|\d{13}", value, re.ASCII):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if value >= 1e11:
        return int(value)
    return int(value * 1000) if value >= 1e9 else None


def local(milliseconds, zone):
    """The wall clock of an instant in a zone."""
    return datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.timezone.utc).astimezone(zone)


def _clock(moment):
    return f"{moment.hour:02}:{moment.minute:02}"


def _day(value):
    match = _DATE.fullmatch(value)
    try:
        return datetime.date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _moment(value):
    """(date, hour, minute, second, milliseconds, offset in seconds or None) of a date with a time, else None."""
    match = _DATETIME.fullmatch(value)
    if not match or not (day := _day(match[1])):
        return None
    hour, minute, second = int(match[2]), int(match[3]), int(match[4] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((match[5] or "0").ljust(3, "0")[:3])
    offset = None
    if match[6]:
        offset = 0
        if match[6] not in "Zz":
            sign = -1 if match[6][0] == "-" else 1
            digits = match[6][1:].replace(":", "")
            offset = sign * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
    return day, hour, minute, second, fraction, offset


def _instant(moment):
    day, hour, minute, second, fraction, offset = moment
    utc = datetime.datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=datetime.timezone.utc)
    return int(utc.timestamp() - (offset or 0)) * 1000 + fraction


def parse_time(value, zone, is_end=False):
    """HH:MM in the zone, else None."""
    if (milliseconds := _epoch(value.strip() if isinstance(value, str) else value)) is not None:
        return _clock(local(milliseconds, zone))
    if not isinstance(value, str):
        return None
    value = value.strip()
    if match := _CLOCK.fullmatch(value):
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        if is_end and (hour, minute, second) == (24, 0, 0):
            return "23:59"
        return f"{hour:02}:{minute:02}" if hour < 24 and minute < 60 and second < 60 else None
    if match := _MERIDIEM.fullmatch(value):
        hour, minute = int(match[1]), int(match[2] or 0)
        if not 1 <= hour <= 12 or minute > 59:
            return None
        return f"{hour % 12 + (12 if match[3] in 'pP' else 0):02}:{minute:02}"
    if moment := _moment(value):
        if moment[5] is None:
            return f"{moment[1]:02}:{moment[2]:02}"
        return _clock(local(_instant(moment), zone))
    return None


def parse_date(value, zone):
    """YYYY-MM-DD in the zone, else None."""
    if (milliseconds := _epoch(value.strip() if isinstance(value, str) else value)) is not None:
        return local(milliseconds, zone).date().isoformat()
    if not isinstance(value, str):
        return None
    value = value.strip()
    if day := _day(value):
        return day.isoformat()
    if moment := _moment(value):
        return moment[0].isoformat() if moment[5] is None else local(_instant(moment), zone).date().isoformat()
    return None


def parse_time_slot(value, zone):
    """(start, end) of the drone interface's `time_slot`; each may be None."""
    if isinstance(value, dict):
        for names in (("start", "end"), ("start_time", "end_time"), ("from", "to")):
            if names[0] in value or names[1] in value:
                return parse_time(value.get(names[0]), zone), parse_time(value.get(names[1]), zone, True)
        return None, None
    if isinstance(value, list):
        return (parse_time(value[0], zone), parse_time(value[1], zone, True)) if len(value) == 2 else (None, None)
    if not isinstance(value, str):
        return parse_time(value, zone), None
    if (single := parse_time(value, zone)) is not None:
        return single, None
    if not (match := _RANGE.fullmatch(value.strip())):
        return None, None
    start, end = match[1].strip(), match[2].strip()
    shared = _MERIDIEM.fullmatch(end)
    if shared and (bare := _BARE_HOUR.fullmatch(start)) and 1 <= int(bare[1]) <= 12:
        letter = shared[3].upper()
        last = parse_time(end, zone, True)
        first = parse_time(f"{start} {letter}M", zone)
        if first is not None and last is not None and first > last:
            first = parse_time(f"{start} {'A' if letter == 'P' else 'P'}M", zone)
        return first, last
    return parse_time(start, zone), parse_time(end, zone, True)


def parse_event_time(value):
    """Milliseconds since the epoch; a time without an offset is UTC."""
    if (milliseconds := _epoch(value)) is not None:
        return milliseconds
    moment = _moment(value.strip()) if isinstance(value, str) else None
    return _instant(moment) if moment else None


def child(value, *path):
    """The member of an object at a path, else None."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def first_text(*values):
    """The first of the values that is a text."""
    return next((found for value in values if (found := text(value)) is not None), None)


def is_utf8(value):
    try:
        value.decode()
        return True
    except UnicodeDecodeError:
        return False
