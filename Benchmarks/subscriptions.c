/* Fills a topic with subscriptions, as `carillon subscriptions import` would, but faster than a broker takes them.
 *
 *   subscriptions BOOTSTRAP TOPIC TOKENS AUDIENCES
 *       TOKENS devices with a token of 142 bytes each; number i is of place i modulo AUDIENCES.
 *
 * Build: cc -O2 subscriptions.c -lrdkafka -lcrypto
 */
#include <inttypes.h>
#include <openssl/evp.h>

#include "client.h"

static const char digits[] = "0123456789abcdef";

static void make_token(char *to, int64_t number) {
    uint64_t random = 0x9E3779B97F4A7C15 ^ (uint64_t)number * 0xD1342543DE82EF95;
    int length = sprintf(to, "device-%010" PRId64 "-", number);
    while (length < 142) {
        uint64_t word = next_random(&random);
        for (int i = 0; i < 16 && length < 142; i++, word >>= 4) to[length++] = digits[word & 15];
    }
    to[length] = 0;
}

static int make_key(char *to, const char *audience, const char *token) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    if (!EVP_Digest(token, strlen(token), hash, NULL, EVP_sha256(), NULL)) die("key", "no SHA-256");
    int length = sprintf(to, "%s|", audience);
    for (int i = 0; i < 32; i++) {
        to[length++] = digits[hash[i] >> 4];
        to[length++] = digits[hash[i] & 15];
    }
    return length;
}

int main(int count, char **argument) {
    if (count != 5) {
        fprintf(stderr, "usage: subscriptions BOOTSTRAP TOPIC TOKENS AUDIENCES\n");
        return 64;
    }
    const char *const own[][2] = {{"bootstrap.servers", argument[1]}, {"enable.idempotence", "true"}, {NULL, NULL}};
    rd_kafka_t *producer = make_client(RD_KAFKA_PRODUCER, producer_settings, own);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, argument[2], NULL);
    int64_t tokens = atoll(argument[3]), audiences = atoll(argument[4]);
    if (tokens < 1 || audiences < 1) die("load", "no token or no audience");
    char token[160], audience[64], key[160], value[512];
    for (int64_t made = 0; made < tokens; made++) {
        make_token(token, made);
        sprintf(audience, "place/%08" PRId64 "-0000-4000-8000-000000000000", made % audiences);
        int key_length = make_key(key, audience, token);
        int length = sprintf(
            value,
            "{\"audience\":\"%s\",\"token\":\"%s\",\"platform\":\"fcm\",\"app\":\"com.example.shop\",\"environment\":\"production\","
            "\"locale\":\"en-GB\",\"registered_at\":\"2026-02-01T00:00:00Z\",\"last_seen_at\":\"2026-02-28T00:00:00Z\"}",
            audience, token);
        while (rd_kafka_produce(
            topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value, (size_t)length, key, (size_t)key_length, NULL)) {
            if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) die("produce", rd_kafka_err2str(rd_kafka_last_error()));
            rd_kafka_poll(producer, 10);
        }
        if (made % 1000 == 0) rd_kafka_poll(producer, 0);
    }
    if (rd_kafka_flush(producer, 120000)) die("load", "not delivered within 120 s");
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer);
    return 0;
}
