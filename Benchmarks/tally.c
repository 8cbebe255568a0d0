#include "tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clients.h"

enum { READ_MS = 30000 };

/* FNV-1a, and the length, so that bytes cannot move from one part to the next. */
static uint64_t hash(uint64_t so_far, const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) so_far = (so_far ^ at[i]) * 0x100000001b3;
    return (so_far ^ length) * 0x100000001b3;
}

static uint64_t hash_record(const rd_kafka_message_t *record) {
    uint64_t found = hash(hash(0xcbf29ce484222325, record->key, record->key_len), record->payload, record->len);
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size;
    if (rd_kafka_message_headers(record, &headers)) return found;
    for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &size); i++)
        found = hash(hash(found, name, strlen(name)), value, size);
    return found;
}

int tally(char **argument) {
    setting own[] = {{"bootstrap.servers", argument[0]}, {"group.id", "tally"}, {NULL, NULL}};
    rd_kafka_t *consumer = make_client(RD_KAFKA_CONSUMER, make_conf(consumer_settings, own));
    int open = read_all(consumer, argument[1]);
    int64_t records = 0;
    uint64_t digest = 0;
    while (open) {
        rd_kafka_message_t *record = rd_kafka_consumer_poll(consumer, READ_MS);
        if (!record) die("tally", "nothing was read for 30 s");
        if (!record->err) {
            records++;
            digest += hash_record(record);
        } else if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            open--;
        } else {
            die("tally", rd_kafka_message_errstr(record));
        }
        rd_kafka_message_destroy(record);
    }
    printf("{\"records\": %" PRId64 ", \"digest\": \"%016" PRIx64 "\"}\n", records, digest);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    return 0;
}
