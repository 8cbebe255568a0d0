/* What the benchmark programs in C share: errors, random numbers, and clients with Carillon's settings. */
#include <librdkafka/rdkafka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *why) {
    fprintf(stderr, "error: %s: %s\n", what, why);
    exit(1);
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char why[512];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) die(name, why);
}

static rd_kafka_t *make_client(rd_kafka_type_t type, const char *const settings[][2], const char *const own[][2]) {
    char why[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (; (*settings)[0]; settings++) set(conf, (*settings)[0], (*settings)[1]);
    for (; (*own)[0]; own++) set(conf, (*own)[0], (*own)[1]);
    rd_kafka_t *client = rd_kafka_new(type, conf, why, sizeof why);
    if (!client) die("client", why);
    return client;
}

static const char *const producer_settings[][2] = {
    {"message.max.bytes", "16777216"}, {"queue.buffering.max.messages", "500000"},
    {"socket.timeout.ms", "10000"},    {"linger.ms", "20"},
    {"retry.backoff.ms", "10"},        {"compression.type", "lz4"},
    {"partitioner", "murmur2_random"}, {"batch.num.messages", "10000"},
    {"socket.nagle.disable", "true"},  {NULL, NULL},
};
