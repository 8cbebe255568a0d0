/* What the programs of the benchmarks share: librdkafka's clients with the settings of Carillon's own, time, and chance. */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

typedef const char *const setting[2];

/* Both lists end with a NULL. */
extern setting producer_settings[], consumer_settings[];

void die(const char *what, const char *why) __attribute__((noreturn));
void check(rd_kafka_error_t *error, const char *what);
void set(rd_kafka_conf_t *conf, const char *name, const char *value);
/* A configuration with these settings, and then with those of `own`. */
rd_kafka_conf_t *make_conf(setting *settings, setting *own);
/* Takes the configuration. */
rd_kafka_t *make_client(rd_kafka_type_t type, rd_kafka_conf_t *conf);
int count_partitions(rd_kafka_t *client, const char *topic);
/* Assigns every partition of a topic from offset 0, and returns how many there are. */
int read_all(rd_kafka_t *consumer, const char *topic);
/* Waits while the queue is full. The key is text; `opaque` comes back with the delivery report. */
void produce(rd_kafka_t *producer, rd_kafka_topic_t *topic, const char *key, const char *value, int length, void *opaque);

int64_t now_ms(void);
uint64_t next_random(uint64_t *state);

#endif
