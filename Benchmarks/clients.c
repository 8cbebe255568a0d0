#include "clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { METADATA_MS = 30000 };

setting producer_settings[] = {
    {"message.max.bytes", "16777216"}, {"queue.buffering.max.messages", "500000"},
    {"socket.timeout.ms", "10000"},    {"linger.ms", "20"},
    {"retry.backoff.ms", "10"},        {"compression.type", "lz4"},
    {"partitioner", "murmur2_random"}, {"batch.num.messages", "10000"},
    {"socket.nagle.disable", "true"},  {NULL, NULL},
};

setting consumer_settings[] = {
    {"isolation.level", "read_committed"},
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "earliest"},
    {"partition.assignment.strategy", "range"},
    {"session.timeout.ms", "10000"},
    {"enable.partition.eof", "true"},
    {"check.crcs", "true"},
    {"fetch.wait.max.ms", "50"},
    {"queued.min.messages", "20000"},
    {"queued.max.messages.kbytes", "16384"},
    {"fetch.error.backoff.ms", "100"},
    {"socket.nagle.disable", "true"},
    {NULL, NULL},
};

void die(const char *what, const char *why) {
    fprintf(stderr, "limit: %s: %s\n", what, why);
    exit(1);
}

void check(rd_kafka_error_t *error, const char *what) {
    if (error) die(what, rd_kafka_error_string(error));
}

void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char why[512];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) die(name, why);
}

rd_kafka_conf_t *make_conf(setting *settings, setting *own) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (; (*settings)[0]; settings++) set(conf, (*settings)[0], (*settings)[1]);
    for (; (*own)[0]; own++) set(conf, (*own)[0], (*own)[1]);
    return conf;
}

rd_kafka_t *make_client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
    char why[512];
    rd_kafka_t *client = rd_kafka_new(type, conf, why, sizeof why);
    if (!client) die("client", why);
    return client;
}

int count_partitions(rd_kafka_t *client, const char *name) {
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    rd_kafka_resp_err_t error = rd_kafka_metadata(client, 0, topic, &metadata, METADATA_MS);
    if (error) die("metadata", rd_kafka_err2str(error));
    int count = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);
    if (count < 1) die("no such topic", name);
    return count;
}

int read_all(rd_kafka_t *consumer, const char *topic) {
    int count = count_partitions(consumer, topic);
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(count);
    for (int partition = 0; partition < count; partition++) rd_kafka_topic_partition_list_add(all, topic, partition)->offset = 0;
    rd_kafka_assign(consumer, all);
    rd_kafka_topic_partition_list_destroy(all);
    return count;
}

void produce(rd_kafka_t *producer, rd_kafka_topic_t *topic, const char *key, const char *value, int length, void *opaque) {
    while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, (void *)value, (size_t)length, key, strlen(key),
                            opaque)) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) die("produce", rd_kafka_err2str(rd_kafka_last_error()));
        rd_kafka_poll(producer, 10);
    }
}

int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
