#include "latency.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clients.h"
#include "events.h"

/* The first events, one every 20 ms; events are due once in 500 µs at most. */
enum { FIRST_EVENTS = 100, FIRST_RATE = 50, STEP_US = 500 };
enum { START_MS = 120000, END_MS = 60000, LONGEST_MS = 60000 };

struct event {
    int64_t appended_ms, visible_us;
    int copies, is_measured;
};

static struct {
    int copies, partitions;
    int64_t total;
    /* By partition and offset; pages that no event needs are never touched. */
    struct event **event;
    rd_kafka_t *consumer;
    atomic_llong visible;
    atomic_int is_over;
} state;

static int64_t microseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct event *event_at(int32_t partition, int64_t offset) {
    if (partition < 0 || partition >= state.partitions || offset < 0 || offset >= state.total)
        die("latency", "an event of somebody else");
    return &state.event[partition][offset];
}

/* -- events -------------------------------------------------------------------------------------- */

static void delivered(rd_kafka_t *producer, const rd_kafka_message_t *report, void *opaque) {
    (void)producer, (void)opaque;
    if (report->err) die("latency", rd_kafka_err2str(report->err));
    rd_kafka_timestamp_type_t type;
    struct event *event = event_at(report->partition, report->offset);
    event->appended_ms = rd_kafka_message_timestamp(report, &type);
    event->is_measured = report->_private != NULL;
    if (type != RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME) die("latency", "the topic needs message.timestamp.type=LogAppendTime");
}

/* Sends so many events at a steady rate; the most that one of them was late, in µs. */
static int64_t send_events(rd_kafka_t *producer, rd_kafka_topic_t *topic, struct event_source *source, int64_t count, double rate,
                           int is_measured) {
    char value[MAX_EVENT], key[KEY_SIZE];
    int64_t began = microseconds(CLOCK_MONOTONIC), latest = 0;
    for (int64_t sent = 0; sent < count;) {
        int64_t now = microseconds(CLOCK_MONOTONIC), due = began + (int64_t)((double)sent * 1e6 / rate);
        if (due > now) {
            int64_t until = due > now + STEP_US ? due : now + STEP_US;
            struct timespec wake = {until / 1000000, until % 1000000 * 1000};
            rd_kafka_poll(producer, 0);
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
            continue;
        }
        if (now - due > latest) latest = now - due;
        int length = make_event(source, value, key);
        produce(producer, topic, key, value, length, is_measured ? &state : NULL);
        sent++;
    }
    return latest;
}

static void wait_for_all(rd_kafka_t *producer, const struct event_source *source, int64_t limit_ms) {
    int64_t deadline = now_ms() + limit_ms;
    while (state.visible < source->made || rd_kafka_outq_len(producer)) {
        if (now_ms() > deadline) {
            fprintf(stderr, "limit: latency: %" PRId64 " of %" PRId64 " events have their records\n", (int64_t)state.visible,
                    source->made);
            exit(1);
        }
        rd_kafka_poll(producer, 10);
    }
}

/* -- records ------------------------------------------------------------------------------------- */

static struct event *event_of(const rd_kafka_message_t *record) {
    rd_kafka_headers_t *headers;
    const void *value;
    size_t size;
    char source[300];
    if (rd_kafka_message_headers(record, &headers) || rd_kafka_header_get_last(headers, "source", &value, &size) ||
        size >= sizeof source)
        die("latency", "a record without a source");
    memcpy(source, value, size);
    source[size] = 0;
    char *offset = strrchr(source, '/');
    if (!offset) die("latency", source);
    *offset = 0;
    char *partition = strrchr(source, '/');
    if (!partition) die("latency", source);
    return event_at(atoi(partition + 1), atoll(offset + 1));
}

static void *read_records(void *unused) {
    (void)unused;
    while (!state.is_over) {
        rd_kafka_message_t *record = rd_kafka_consumer_poll(state.consumer, 100);
        if (!record) continue;
        if (!record->err) {
            struct event *event = event_of(record);
            if (++event->copies > state.copies) die("latency", "an event has too many records");
            if (event->copies == state.copies) {
                event->visible_us = microseconds(CLOCK_REALTIME);
                state.visible++;
            }
        } else if (record->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            die("latency", rd_kafka_message_errstr(record));
        }
        rd_kafka_message_destroy(record);
    }
    return NULL;
}

/* -- the figures --------------------------------------------------------------------------------- */

static void print_latencies(int64_t late_us, double seconds) {
    int64_t *count = calloc(LONGEST_MS + 1, sizeof *count);
    int64_t measured = 0;
    for (int partition = 0; partition < state.partitions; partition++)
        for (int64_t offset = 0; offset < state.total && state.event[partition][offset].copies; offset++) {
            struct event *event = &state.event[partition][offset];
            if (!event->is_measured) continue;
            int64_t took = event->visible_us / 1000 - event->appended_ms;
            if (took < 0) die("latency", "visible before it was appended: broker and reader have different clocks");
            count[took < LONGEST_MS ? took : LONGEST_MS]++;
            measured++;
        }
    printf("{\"events\": %" PRId64 ", \"seconds\": %.3f, \"late_ms\": %.1f, \"milliseconds\": {", measured, seconds,
           (double)late_us / 1e3);
    const char *comma = "";
    for (int ms = 0; ms <= LONGEST_MS; ms++)
        if (count[ms]) {
            printf("%s\"%d\": %" PRId64, comma, ms, count[ms]);
            comma = ", ";
        }
    printf("}}\n");
    free(count);
}

int latency(char **argument) {
    double rate = atof(argument[3]), warm_up = atof(argument[4]), seconds = atof(argument[5]);
    struct event_source source = new_events(atoi(argument[6]), atoi(argument[7]));
    state.copies = atoi(argument[8]);
    int64_t unmeasured = (int64_t)(rate * warm_up), measured = (int64_t)(rate * seconds);
    state.total = FIRST_EVENTS + unmeasured + measured;

    /* One millisecond, so that events stay as even as they are made. */
    setting producing[] = {{"bootstrap.servers", argument[0]}, {"enable.idempotence", "true"}, {"linger.ms", "1"}, {NULL, NULL}};
    rd_kafka_conf_t *conf = make_conf(producer_settings, producing);
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_t *producer = make_client(RD_KAFKA_PRODUCER, conf);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, argument[1], NULL);
    state.partitions = count_partitions(producer, argument[1]);
    state.event = calloc((size_t)state.partitions, sizeof *state.event);
    for (int partition = 0; partition < state.partitions; partition++)
        state.event[partition] = calloc((size_t)state.total, sizeof **state.event);

    setting reading[] = {{"bootstrap.servers", argument[0]}, {"group.id", "latency"}, {NULL, NULL}};
    state.consumer = make_client(RD_KAFKA_CONSUMER, make_conf(consumer_settings, reading));
    read_all(state.consumer, argument[2]);
    pthread_t reader;
    pthread_create(&reader, NULL, read_records, NULL);
    send_events(producer, topic, &source, FIRST_EVENTS, FIRST_RATE, 0);
    wait_for_all(producer, &source, START_MS);
    send_events(producer, topic, &source, unmeasured, rate, 0);
    int64_t began = microseconds(CLOCK_MONOTONIC), late = send_events(producer, topic, &source, measured, rate, 1);
    double took = (double)(microseconds(CLOCK_MONOTONIC) - began) / 1e6;
    wait_for_all(producer, &source, END_MS);
    state.is_over = 1;
    pthread_join(reader, NULL);
    print_latencies(late, took);
    return 0;
}
