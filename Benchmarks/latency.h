/* limit latency BOOTSTRAP INPUT OUTPUT RATE WARM_UP SECONDS BYTES PLACES COPIES
 *
 * Appends events to INPUT at a steady rate, reads what is committed in OUTPUT, and prints how long each event took: from its
 * append, by the broker's clock (INPUT has LogAppendTime), until the last of its COPIES records was read, by this machine's clock.
 * Broker and reader must share a clock. The append's time is in whole milliseconds, so a latency is up to 1 ms too long.
 *
 * The header `source` of a record, TOPIC/PARTITION/OFFSET, names its event. INPUT and OUTPUT must be empty: the offsets count
 * from 0. A few events are sent before, until all of them have their records; then WARM_UP seconds that are not measured. */
#ifndef LATENCY_H
#define LATENCY_H

int latency(char **argument);

#endif
