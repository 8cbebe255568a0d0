"""What a request over HTTP asks for: the commands that are recorded for it, or as what it is refused before that (docs/api.md)."""

from urllib.parse import unquote

# By method and kind of resource: who may ask for it, beside backends.
ALLOWED = {
    ("GET", "devices"): {"user", "device"},
    ("PUT", "devices"): {"user"},
    ("PATCH", "devices"): {"user", "device"},
    ("DELETE", "devices"): {"user", "device"},
    ("DELETE", "devices/person"): {"user", "device"},
    ("PUT", "devices/audiences"): {"user"},
    ("DELETE", "devices/audiences"): {"user", "device"},
    ("POST", "devices:import"): set(),
    ("GET", "people"): {"user"},
    ("PATCH", "people"): {"user"},
    ("DELETE", "people"): set(),
    ("GET", "people/audiences"): set(),
    ("PUT", "people/audiences"): set(),
    ("GET", "people/devices"): {"user"},
    ("DELETE", "people/devices"): {"user"},
}


def parts(path):
    """The parts of a path behind its version, decoded: devices, NAME, and what follows."""
    return [unquote(each) for each in path.partition("?")[0].split("/")[2:]]


def kind_of(path):
    """What it is about, without the names: devices/audiences."""
    return "/".join(parts(path)[::2])


def asks(caller, method, path, body, devices):
    """The commands that are to be recorded, each once, but for their author; or the status of a refusal.

    `caller` is a pair of `key`, `user` or `device`, and the name of the person, or of the device that the credential names.
    `devices` are all that there may be: on which of them a person is logged in is known only later.
    """
    (kind, name), resource, names = caller, kind_of(path), parts(path)[1::2]
    if kind != "key" and kind not in ALLOWED[method, resource]:
        return 401
    if (kind == "device" or (kind == "user" and resource.startswith("people"))) and name != names[0]:
        return 404
    commands = commands_of(method, resource, names, body, devices, is_partial=path.endswith("?partial=1"))
    return commands if kind != "user" else limited(commands, name)


def commands_of(method, resource, names, body, devices, is_partial):
    """What a backend asks for."""
    match method, resource, names:
        case "GET", _, _:
            return []
        case "PUT", "devices", [device]:
            return [change(device, whole=True, **body)]
        case "PATCH", "devices", [device]:
            # Null removes; of a list, all that is in it.
            return [change(device, **body | ({"audiences": []} if body.get("audiences", ()) is None else {}))]
        case "DELETE", "devices", [device]:
            return [{"action": "delete_device", "device": device}]
        case "DELETE", "devices/person", [device]:
            return [change(device, person=None)]
        case "PUT", "devices/audiences", [device, audience]:
            return [change(device, adds=[audience])] if is_allowed(audience) else 400
        case "DELETE", "devices/audiences", [device, audience]:
            return [change(device, removes=[audience])] if is_allowed(audience) else 400
        case "POST", "devices:import", []:
            # Old copies bring nobody back.
            lines = [change(whole=True, unless_erased=True, **each) for each in body if isinstance(each.get("locale", ""), str)]
            return lines if is_partial or len(lines) == len(body) else 422
        case "PATCH", "people", [person]:
            return [{"action": "change_person", "person": person} | body]
        case "PUT", "people/audiences", [person]:
            return [{"action": "change_person", "person": person, "audiences": body}]
        case "DELETE", "people", [person]:
            return [{"action": "erase_person", "person": person}]
        case "DELETE", "people/devices", [person, *named]:
            return [change(each, person=None, if_person=person) for each in named or devices]
        case _:
            raise ValueError(f"no such operation: {method} {resource} {names}")


def change(device, whole=False, **members):
    return {"action": "change_device", "device": device, "whole": whole} | members


def is_allowed(audience):
    return audience.startswith(("place/", "channel/"))


def limited(commands, person):
    """The same by a user, whose token grants all places and channels: what it changes becomes the own, or is refused."""
    if commands == 400 or not commands or commands[0]["action"] == "delete_device" or "if_person" in commands[0]:
        return commands
    (command,) = commands
    audiences = command.get("audiences", []) + command.get("adds", [])
    if command["action"] == "change_person":
        return commands if "audiences" not in command else 403
    if any(not is_allowed(each) and each != f"user/{person}" for each in audiences):
        return 403
    if command.get("person", person) not in (None, person):
        return 403
    if command["whole"] or (audiences and "person" not in command):
        return [command | {"person": person}]
    is_logout = "person" in command and command["person"] is None
    return 403 if is_logout and not all(each.startswith("channel/") for each in audiences) else commands
