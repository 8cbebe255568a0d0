/* The events of the benchmarks. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdint.h>

enum { MAX_EVENT = 16384, KEY_SIZE = 40 };

/* Where the next event comes from: the same seed gives the same events. */
struct event_source {
    uint64_t random;
    int64_t made;
    int bytes, places;
};

struct event_source new_events(int bytes, int places);

/* Writes the next event, of a new order, into `to` and the order's id into `key`, and returns the event's length: `bytes`, or a
 * little more. Eight events in ten have their slot where document 1 has it, one where Salesforce writes it, one as a drone's. */
int make_event(struct event_source *source, char to[MAX_EVENT], char key[KEY_SIZE]);

/* limit load BOOTSTRAP TOPIC EVENTS BYTES PLACES */
int load(char **argument);

#endif
