/* The limit: what librdkafka and this machine can move with Carillon's settings when nothing is parsed or looked up; and what the
 * benchmarks need besides.
 *
 *   limit run BOOTSTRAP GROUP INPUT OUTPUT EVENTS WORKERS COPIES BYTES INTERVAL
 *       WORKERS threads, each with its own consumer and transactional producer: for each event COPIES prepared records
 *       of BYTES bytes with 4 headers, in transactions of 20,000 events or INTERVAL ms (500 ms if
 *       events have waited all the time) with their offsets. Ends after EVENTS events.
 *   limit load BOOTSTRAP TOPIC EVENTS BYTES PLACES
 *       Produces EVENTS order events of about BYTES bytes for PLACES places, keyed by order id, as a Java client would.
 *   limit subscriptions BOOTSTRAP TOPIC TOKENS AUDIENCES
 *       Produces TOKENS subscriptions of AUDIENCES places.
 *   limit tally BOOTSTRAP TOPIC
 *       Reads what is committed, and prints how many records there are and a digest that does not depend on their order.
 *   limit latency BOOTSTRAP INPUT OUTPUT RATE WARM_UP SECONDS BYTES PLACES COPIES
 *       Appends RATE events a second to INPUT, evenly, and prints how long it took until their records could be read in OUTPUT.
 *
 * The settings are those of Carillon's own clients. Scripts/bench builds it.
 */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "events.h"
#include "latency.h"
#include "subscriptions.h"
#include "tally.h"

enum { TRANSACTION_EVENTS = 20000, BEHIND_MS = 500 };
enum { PREPARED = 8192, MIN_VALUE = 600, MAX_VALUE = 2000, MAX_PARTITIONS = 1024 };
enum { QUEUED_MESSAGES = 20000, WAKE_UP_MS = 10 };

struct prepared {
    char key[64], value[MAX_VALUE], id[27];
};

struct worker {
    pthread_t thread;
    int number;
    rd_kafka_t *consumer, *producer;
    rd_kafka_topic_t *output;
    rd_kafka_queue_t *control, *data;
    int64_t next[MAX_PARTITIONS];
    atomic_int assigned;
    int32_t any_partition;
    int was_full, caught_up;
    int64_t woken;
};

static struct {
    char **argument;
    int64_t events;
    int workers, copies, value_bytes, interval, partitions;
    atomic_llong done;
    struct prepared *prepared;
    struct worker *worker;
} run_state;

static void rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t *list, void *opaque) {
    struct worker *worker = opaque;
    if (what != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        rd_kafka_assign(consumer, NULL);
        worker->assigned = 0;
        return;
    }
    for (int i = 0; i < list->cnt; i++) {
        rd_kafka_queue_t *queue = rd_kafka_queue_get_partition(consumer, list->elems[i].topic, list->elems[i].partition);
        rd_kafka_queue_forward(queue, worker->data);
        rd_kafka_queue_destroy(queue);
        worker->any_partition = list->elems[i].partition;
    }
    rd_kafka_assign(consumer, list);
    worker->assigned = list->cnt;
}

static int is_balanced(void) {
    int assigned = 0, idle = 0;
    for (int i = 0; i < run_state.workers; i++) {
        int count = run_state.worker[i].assigned;
        assigned += count;
        idle += count == 0;
    }
    return assigned == run_state.partitions && !idle;
}

static void serve_control(struct worker *worker, int timeout) {
    rd_kafka_message_t *message = rd_kafka_consume_queue(worker->control, timeout);
    if (message) rd_kafka_message_destroy(message);
}

/* A full queue sleeps up to a second; any request to the broker wakes its thread. */
static void wake_up(struct worker *worker) {
    size_t length = rd_kafka_queue_length(worker->data);
    if (length >= QUEUED_MESSAGES) worker->was_full = 1;
    if (!worker->was_full || length > QUEUED_MESSAGES / 2 || now_ms() - worker->woken < WAKE_UP_MS) return;
    int64_t low, high;
    rd_kafka_query_watermark_offsets(worker->consumer, run_state.argument[2], worker->any_partition, &low, &high, 0);
    worker->was_full = 0;
    worker->woken = now_ms();
}

static void emit(struct worker *worker, const rd_kafka_message_t *event, int64_t number) {
    char source[256], expires[32];
    int source_length = snprintf(source, sizeof source, "orders.events/%d/%" PRId64, event->partition, event->offset);
    int expires_length = snprintf(expires, sizeof expires, "%" PRId64, INT64_C(1772323200000) + number);
    for (int copy = 0; copy < run_state.copies; copy++) {
        struct prepared *record = &run_state.prepared[(number * run_state.copies + copy) % PREPARED];
        rd_kafka_headers_t *headers = rd_kafka_headers_new(5);
        rd_kafka_header_add(headers, "message-id", 10, record->id, sizeof record->id);
        rd_kafka_header_add(headers, "platform", 8, "fcm", 3);
        rd_kafka_header_add(headers, "source", 6, source, source_length);
        rd_kafka_header_add(headers, "expires-at", 10, expires, expires_length);
        rd_kafka_header_add(headers, "audience", 8, "place/10000", 11);
        rd_kafka_resp_err_t error;
        while ((error = rd_kafka_producev(
                    worker->producer, RD_KAFKA_V_RKT(worker->output), RD_KAFKA_V_KEY(record->key, sizeof record->key),
                    RD_KAFKA_V_VALUE(record->value, (size_t)run_state.value_bytes), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                    RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END)) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            rd_kafka_poll(worker->producer, 10);
        if (error) die("produce", rd_kafka_err2str(error));
    }
}

/* As Carillon's commit: librdkafka's own flush looks for the end each 10 ms only. */
static void deliver(rd_kafka_t *producer) {
    for (int64_t end = now_ms() + 200; rd_kafka_outq_len(producer) && now_ms() < end;) rd_kafka_flush(producer, 1);
}

static void commit(struct worker *worker, int64_t events) {
    if (rd_kafka_outq_len(worker->producer)) rd_kafka_flush(worker->producer, 1);
    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(16);
    for (int32_t partition = 0; partition < run_state.partitions; partition++)
        if (worker->next[partition]) {
            rd_kafka_topic_partition_list_add(offsets, run_state.argument[2], partition)->offset = worker->next[partition];
            worker->next[partition] = 0;
        }
    rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(worker->consumer);
    check(rd_kafka_send_offsets_to_transaction(worker->producer, offsets, group, -1), "send offsets");
    deliver(worker->producer);
    check(rd_kafka_commit_transaction(worker->producer, -1), "commit");
    rd_kafka_consumer_group_metadata_destroy(group);
    rd_kafka_topic_partition_list_destroy(offsets);
    run_state.done += events;
}

static int is_due(struct worker *worker, int64_t events, int64_t began) {
    int64_t age = now_ms() - began;
    if (!worker->caught_up) worker->caught_up = !rd_kafka_queue_length(worker->data);
    return events >= TRANSACTION_EVENTS || age >= (worker->caught_up ? run_state.interval : BEHIND_MS);
}

static void *work(void *opaque) {
    struct worker *worker = opaque;
    /* No worker starts before all have partitions: otherwise the first transactions would meet a rebalance. */
    while (!is_balanced()) serve_control(worker, 10);
    int64_t number = worker->number * 1000003, began = 0, in_transaction = 0;
    while (run_state.done < run_state.events) {
        rd_kafka_message_t *event = rd_kafka_consume_queue(worker->data, in_transaction ? 1 : 20);
        if (event && !event->err) {
            if (!in_transaction++) {
                check(rd_kafka_begin_transaction(worker->producer), "begin");
                began = now_ms();
                worker->caught_up = 0;
            }
            emit(worker, event, number++);
            worker->next[event->partition] = event->offset + 1;
        }
        if (event) rd_kafka_message_destroy(event);
        if (number % 64 == 0 || !event) {
            rd_kafka_poll(worker->producer, 0);
            serve_control(worker, 0);
            wake_up(worker);
        }
        if (in_transaction && is_due(worker, in_transaction, began)) {
            commit(worker, in_transaction);
            in_transaction = 0;
        }
    }
    return NULL;
}

static void start(struct worker *worker) {
    char id[512];
    snprintf(id, sizeof id, "%s.limit-%d", run_state.argument[1], worker->number);
    setting producing[] = {{"bootstrap.servers", run_state.argument[0]}, {"transactional.id", id},
                           {"transaction.timeout.ms", "20000"}, {NULL, NULL}};
    worker->producer = make_client(RD_KAFKA_PRODUCER, make_conf(producer_settings, producing));
    worker->output = rd_kafka_topic_new(worker->producer, run_state.argument[3], NULL);
    check(rd_kafka_init_transactions(worker->producer, 30000), "init transactions");

    setting consuming[] = {{"bootstrap.servers", run_state.argument[0]}, {"group.id", run_state.argument[1]},
                           {"group.instance.id", id}, {NULL, NULL}};
    rd_kafka_conf_t *conf = make_conf(consumer_settings, consuming);
    rd_kafka_conf_set_rebalance_cb(conf, rebalance);
    rd_kafka_conf_set_opaque(conf, worker);
    worker->consumer = make_client(RD_KAFKA_CONSUMER, conf);
    rd_kafka_poll_set_consumer(worker->consumer);
    worker->control = rd_kafka_queue_get_consumer(worker->consumer);
    worker->data = rd_kafka_queue_new(worker->consumer);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, run_state.argument[2], RD_KAFKA_PARTITION_UA);
    rd_kafka_subscribe(worker->consumer, topics);
    rd_kafka_topic_partition_list_destroy(topics);
}

/* Records as Carillon writes them, so that they compress equally well: the token fills the rest of the size. */
static void prepare_records(void) {
    uint64_t random = 88172645463325252;
    run_state.prepared = calloc(PREPARED, sizeof *run_state.prepared);
    for (int i = 0; i < PREPARED; i++) {
        struct prepared *record = &run_state.prepared[i];
        char token[MAX_VALUE + 1], rest[MAX_VALUE], order[64];
        for (int at = 0; at < 64; at++) record->key[at] = "0123456789abcdef"[next_random(&random) % 16];
        for (int at = 0; at < MAX_VALUE; at++) token[at] = "0123456789abcdef"[next_random(&random) % 16];
        snprintf(rest, sizeof rest, "msg-1772323200000-%09" PRIu64, next_random(&random) % 1000000000);
        memcpy(record->id, rest, sizeof record->id);
        snprintf(order, sizeof order, "%016" PRIx64 "-%016" PRIx64, next_random(&random), next_random(&random));
        int length = snprintf(
            rest, sizeof rest,
            "\",\"data\":{\"default\":\"{\\\"data\\\":{\\\"message_id\\\":\\\"%.27s\\\",\\\"order_id\\\":\\\"%s\\\","
            "\\\"parent_order_id\\\":\\\"%s\\\",\\\"visible_id\\\":\\\"ORDER-202603-%d\\\",\\\"event_type\\\":\\\"event_order_created\\\","
            "\\\"delivery_date\\\":\\\"2026-03-01\\\",\\\"start_time\\\":\\\"14:00\\\",\\\"end_time\\\":\\\"16:00\\\","
            "\\\"place_id\\\":\\\"%08d-0000-4000-8000-000000000000\\\"}}\"},\"android\":{\"priority\":\"high\",\"ttl\":\"3600s\"},"
            "\"apns\":{\"headers\":{\"apns-push-type\":\"background\",\"apns-priority\":\"5\"},\"payload\":{\"aps\":{}}}}}",
            record->id, order, order, i, i);
        int of_token = run_state.value_bytes - length - 21;
        snprintf(record->value, sizeof record->value, "{\"message\":{\"token\":\"%.*s", of_token, token);
        memcpy(record->value + run_state.value_bytes - length, rest, (size_t)length);
    }
}

static int run(char **argument) {
    run_state.argument = argument;
    run_state.events = atoll(argument[4]);
    run_state.workers = atoi(argument[5]);
    run_state.copies = atoi(argument[6]);
    run_state.value_bytes = atoi(argument[7]);
    run_state.interval = atoi(argument[8]);
    if (run_state.value_bytes < MIN_VALUE || run_state.value_bytes > MAX_VALUE) die("run", "600 to 2,000 bytes a record");
    run_state.worker = calloc((size_t)run_state.workers, sizeof *run_state.worker);
    prepare_records();
    for (int i = 0; i < run_state.workers; i++) {
        run_state.worker[i].number = i;
        start(&run_state.worker[i]);
    }
    run_state.partitions = count_partitions(run_state.worker[0].producer, argument[2]);
    count_partitions(run_state.worker[0].producer, argument[3]);
    if (run_state.partitions > MAX_PARTITIONS) die("run", "too many partitions");
    if (run_state.partitions < run_state.workers) die("run", "more workers than partitions");
    for (int i = 0; i < run_state.workers; i++) pthread_create(&run_state.worker[i].thread, NULL, work, &run_state.worker[i]);
    for (int i = 0; i < run_state.workers; i++) pthread_join(run_state.worker[i].thread, NULL);
    /* The clients are not closed: they end with the process, and closing is not measured. */
    return 0;
}

int main(int count, char **argument) {
    if (count == 7 && !strcmp(argument[1], "load")) return load(argument + 2);
    if (count == 11 && !strcmp(argument[1], "run")) return run(argument + 2);
    if (count == 6 && !strcmp(argument[1], "subscriptions")) return subscriptions(argument + 2);
    if (count == 4 && !strcmp(argument[1], "tally")) return tally(argument + 2);
    if (count == 11 && !strcmp(argument[1], "latency")) return latency(argument + 2);
    fprintf(stderr, "usage: limit run BOOTSTRAP GROUP INPUT OUTPUT EVENTS WORKERS COPIES BYTES INTERVAL\n"
                    "       limit load BOOTSTRAP TOPIC EVENTS BYTES PLACES\n"
                    "       limit subscriptions BOOTSTRAP TOPIC TOKENS AUDIENCES\n"
                    "       limit tally BOOTSTRAP TOPIC\n"
                    "       limit latency BOOTSTRAP INPUT OUTPUT RATE WARM_UP SECONDS BYTES PLACES COPIES\n");
    return 64;
}
