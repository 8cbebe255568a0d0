"""One broadcast to a crowd: processes of `carillon broadcasts` are killed in the middle again and again, while devices join, leave
and come back. Not part of CI; the long run has a million devices."""

import sys
import time

from generator.broadcasts import GENERAL
from harness.scenario import main, scenario
from harness.waiting import now_ms, pause
from scenarios.broadcasts import Load

SIZES = {"devices": 3_000, "kills": 5, "partitions": 8, "processes": 2, "changes": 300}
# So long the pass would take without a kill.
PASS_SECONDS = 20


@scenario("one broadcast to a crowd reaches everybody once, while processes are killed in the middle and devices come and go")
def crowd(harness):
    load = Load(harness, "crowd")
    world, sizes = load.world, load.sizes
    try:
        load.start(sizes.devices / PASS_SECONDS)
        world.publish(world.broadcasts.to_channel(GENERAL, now_ms())[1])
        load.wait_for_passes()
        for number in range(sizes.kills):
            victim = world.daemons[number % len(world.daemons)]
            load.change(sizes.changes // sizes.kills)
            # Something of it has been sent since the kill before, and something is left.
            load.wait_for_passes()
            victim.kill()
            load.say(f"kill -9 {victim.name}, with {len(world.under_way())} passes under way")
            victim.start()
            until = time.monotonic() + PASS_SECONDS / (2 * sizes.kills)
            while time.monotonic() < until:
                pause()
        load.change(50)
        load.finish(("to who joined",), seconds=600)
    finally:
        world.kill_daemons()


if __name__ == "__main__":
    sys.exit(main("broadcast-crowd", __doc__, globals(), sizes=SIZES))
