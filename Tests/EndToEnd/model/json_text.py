"""JSON in which the order of members counts, read and written as sections 5.1 and 8.6 say."""

import decimal
import json

from model.envelope import parse_json
from model.records import DeadLetter

# What JavaScript's `trim` removes.
WHITE_SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


class Members(dict):
    """An object: the last value of each name, in the place of the name's first occurrence. `pairs` has them all."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs


def parse(data):
    """A JSON value of UTF-8 whose objects are `Members`."""
    value = parse_json(data, Members)
    if _has_half_a_pair(value):
        raise DeadLetter("invalid_json")
    return value


def _has_half_a_pair(value):
    """Whether a string of the value is no text, because it has one half of a surrogate pair."""
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, Members):
        return any(_has_half_a_pair(name) or _has_half_a_pair(member) for name, member in value.pairs)
    return isinstance(value, list) and any(map(_has_half_a_pair, value))


def number_text(number):
    """A number as JavaScript prints it; an integer with all its digits."""
    if isinstance(number, int):
        return str(number)
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    negative, digits, exponent = decimal.Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, digits))
    count, point = len(digits), len(digits) + exponent
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        fraction = "." + digits[1:] if count > 1 else ""
        text = f"{digits[0]}{fraction}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return "-" * negative + text


def written(value):
    """The compact JSON text of a value."""
    if isinstance(value, Members):
        return _object(value.pairs)
    if isinstance(value, dict):
        return _object(value.items())
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


def _object(pairs):
    return "{" + ",".join(f"{written(name)}:{written(value)}" for name, value in pairs) + "}"


def trimmed(value):
    return value.strip(WHITE_SPACE)


def as_text(value):
    """A text field (section 5.2): a string without the white space around it, or a number; else None."""
    if isinstance(value, str):
        return trimmed(value) or None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    return None
