#pragma once
#include <librdkafka/rdkafka.h>
// The mock header needs the one above.
#include <librdkafka/rdkafka_mock.h>

/// One record into a producer's queue: rd_kafka_produceva with the argument array on the stack, because Swift cannot
/// call the variadic form and an array of 72-byte unions built in Swift would cost an allocation per record.
///
/// librdkafka copies key and value. A size of -1 is null (a null value is a tombstone); 0 is empty, whatever the
/// pointer. librdkafka takes ownership of `headers` on success only. `timestamp` < 0 means now.
static inline rd_kafka_resp_err_t carillon_produce(
    rd_kafka_t *client, rd_kafka_topic_t *topic, int32_t partition,
    const void *key, ssize_t key_size, const void *value, ssize_t value_size,
    rd_kafka_headers_t *headers, int64_t timestamp, void *opaque) {
    rd_kafka_vu_t arguments[8];
    size_t count = 0;
    arguments[count].vtype = RD_KAFKA_VTYPE_RKT;
    arguments[count++].u.rkt = topic;
    arguments[count].vtype = RD_KAFKA_VTYPE_PARTITION;
    arguments[count++].u.i32 = partition;
    arguments[count].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    arguments[count++].u.i = RD_KAFKA_MSG_F_COPY;
    arguments[count].vtype = RD_KAFKA_VTYPE_OPAQUE;
    arguments[count++].u.ptr = opaque;
    if (value_size >= 0) {
        arguments[count].vtype = RD_KAFKA_VTYPE_VALUE;
        arguments[count].u.mem.ptr = value ? (void *)value : (void *)"";
        arguments[count++].u.mem.size = (size_t)value_size;
    }
    if (key_size >= 0) {
        arguments[count].vtype = RD_KAFKA_VTYPE_KEY;
        arguments[count].u.mem.ptr = key ? (void *)key : (void *)"";
        arguments[count++].u.mem.size = (size_t)key_size;
    }
    if (headers) {
        arguments[count].vtype = RD_KAFKA_VTYPE_HEADERS;
        arguments[count++].u.headers = headers;
    }
    if (timestamp >= 0) {
        arguments[count].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
        arguments[count++].u.i64 = timestamp;
    }
    rd_kafka_error_t *error = rd_kafka_produceva(client, arguments, count);
    if (!error)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return code;
}
