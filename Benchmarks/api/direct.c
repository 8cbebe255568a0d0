/* The least that can answer over HTTP once Kafka has a record: libmicrohttpd with poll, and librdkafka. It checks nothing, knows no
 * keys, no ids and no JSON, and has no limits.
 *
 *   direct PORT TOPIC NAME=VALUE...      the settings of the producer
 */
#include <arpa/inet.h>
#include <librdkafka/rdkafka.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (64 << 10)
#define CONNECTIONS 1032

struct request {
    struct MHD_Connection *connection;
    size_t size;
    int is_suspended;
    /* Written by the thread of the producer before it resumes the connection. */
    int is_written;
    int32_t partition;
    int64_t offset;
    char body[LARGEST];
};

static rd_kafka_t *producer;
static rd_kafka_topic_t *topic;

static void die(const char *what, const char *reason) {
    fprintf(stderr, "direct: %s: %s\n", what, reason);
    exit(1);
}

static void delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    (void)client, (void)opaque;
    struct request *request = message->_private;
    request->is_written = !message->err;
    request->partition = message->partition;
    request->offset = message->offset;
    MHD_resume_connection(request->connection);
}

static enum MHD_Result respond(struct request *request) {
    char text[256];
    int size = snprintf(text, sizeof text,
                        "{\"request_id\":\"0000000000000000\",\"message_id\":\"msg-1772323200000-000000000\",\"record\":\"%s/%d/%lld\","
                        "\"recorded_at\":\"2026-03-01T00:00:00.000Z\"}",
                        rd_kafka_topic_name(topic), request->partition, (long long)request->offset);
    struct MHD_Response *response = MHD_create_response_from_buffer((size_t)size, text, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(request->connection, request->is_written ? 202 : 503, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *part, size_t *size, void **state) {
    (void)context, (void)method, (void)version;
    struct request *request = *state;
    if (!request) {
        *state = request = malloc(sizeof *request);
        request->connection = connection;
        request->size = 0;
        request->is_suspended = request->is_written = 0;
        return MHD_YES;
    }
    if (*size) {
        if (request->size + *size > LARGEST) return MHD_NO;
        memcpy(request->body + request->size, part, *size);
        request->size += *size;
        *size = 0;
        return MHD_YES;
    }
    if (request->is_suspended) return respond(request);
    request->is_suspended = 1;
    MHD_suspend_connection(connection);
    if (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, request->body, request->size, path, strlen(path),
                         request))
        MHD_resume_connection(connection);
    return MHD_YES;
}

static void ended(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode reason) {
    (void)context, (void)connection, (void)reason;
    free(*state);
}

int main(int count, char **argument) {
    if (count < 3) die("usage", "direct PORT TOPIC NAME=VALUE...");
    char reason[512];
    rd_kafka_conf_t *settings = rd_kafka_conf_new();
    for (int i = 3; i < count; i++) {
        char *value = strchr(argument[i], '=');
        if (!value) die(argument[i], "is not NAME=VALUE");
        *value++ = 0;
        if (rd_kafka_conf_set(settings, argument[i], value, reason, sizeof reason)) die(argument[i], reason);
    }
    rd_kafka_conf_set_dr_msg_cb(settings, delivered);
    producer = rd_kafka_new(RD_KAFKA_PRODUCER, settings, reason, sizeof reason);
    if (!producer) die("the producer", reason);
    topic = rd_kafka_topic_new(producer, argument[2], NULL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argument[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, answer, NULL,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_NOTIFY_COMPLETED, ended, NULL,
        MHD_OPTION_END);
    if (!daemon) die("libmicrohttpd", "did not start");
    for (;;) rd_kafka_poll(producer, 100);
}
