"""The title and the body of an order push, by the templates of docs/rules.md, section 7.1."""

import re
import string

from model.envelope import EVENT_TYPES

MEMBERS = (
    "message_id order_id parent_order_id visible_id event_type delivery_date start_time end_time place_id "
    "previous_status new_status order_number"
).split()


def shown(payload, locale, templates, audience=None):
    """The title and the body for a device of this locale, found by this audience; None where the push is data only."""
    if templates is None:
        return None
    languages = {_normal(name): texts for name, texts in templates["languages"].items()}
    event_type = payload["event_type"].removeprefix("event_")
    for language in _languages(locale, templates["default"]):
        texts = languages.get(language, {})
        of_any = (f"{event_type}/{payload.get('new_status')}", event_type)
        of_kind = (f"{each}@{audience.partition('/')[0]}" for each in of_any) if audience else ()
        for key in (*of_kind, *of_any):
            if key in texts:
                return tuple(_filled(texts[key][part], payload) for part in ("title", "body"))
    return None


def _languages(locale, default):
    if locale:
        yield _normal(locale)
        yield _normal(locale).partition("-")[0]
    yield _normal(default)


def _normal(language):
    """Only ASCII letters have a case here: the characters of a language tag."""
    return language.translate(str.maketrans(string.ascii_uppercase + "_", string.ascii_lowercase + "-"))


def _filled(template, payload):
    return re.sub(r"\{([\w-]+)\}", lambda match: payload.get(match[1], ""), template)


def is_valid(templates):
    """Whether the pipeline starts with these templates."""
    try:
        languages = templates["languages"]
        if len(set(map(_normal, languages))) < len(languages) or not all(map(_is_tag, languages)):
            return False
        if _normal(templates["default"]) not in map(_normal, languages) or templates.keys() != {"default", "languages"}:
            return False
        return all(_is_entry(key, text) for texts in languages.values() for key, text in texts.items())
    except (AttributeError, KeyError, TypeError):
        return False


def _is_tag(language):
    return re.fullmatch(r"[A-Za-z0-9_-]+", language) is not None


def _is_entry(key, text):
    types = "|".join((*EVENT_TYPES, "order_status_changed/.+"))
    if not re.fullmatch(f"({types})(@(place|user|channel|device))?", key, re.DOTALL) or text.keys() != {"title", "body"}:
        return False
    return all(re.fullmatch(r"([^{}]|\{(" + "|".join(MEMBERS) + r")\})*", part) for part in text.values())
