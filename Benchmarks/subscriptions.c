#include "subscriptions.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"

enum { TOKEN = 142 };

static const char digits[] = "0123456789abcdef";

static void make_token(char *to, int64_t number) {
    uint64_t random = 0x9E3779B97F4A7C15 ^ (uint64_t)number * 0xD1342543DE82EF95;
    int length = sprintf(to, "device-%010" PRId64 "-", number);
    while (length < TOKEN) {
        uint64_t word = next_random(&random);
        for (int i = 0; i < 16 && length < TOKEN; i++, word >>= 4) to[length++] = digits[word & 15];
    }
    to[length] = 0;
}

static void make_key(char *to, const char *audience, const char *token) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    if (!EVP_Digest(token, strlen(token), hash, NULL, EVP_sha256(), NULL)) die("key", "no SHA-256");
    int length = sprintf(to, "%s|", audience);
    for (int i = 0; i < 32; i++) {
        to[length++] = digits[hash[i] >> 4];
        to[length++] = digits[hash[i] & 15];
    }
    to[length] = 0;
}

int subscriptions(char **argument) {
    setting own[] = {{"bootstrap.servers", argument[0]}, {"enable.idempotence", "true"}, {NULL, NULL}};
    rd_kafka_t *producer = make_client(RD_KAFKA_PRODUCER, make_conf(producer_settings, own));
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, argument[1], NULL);
    int64_t tokens = atoll(argument[2]), audiences = atoll(argument[3]);
    if (tokens < 1 || audiences < 1) die("subscriptions", "no token or no audience");
    char token[TOKEN + 1], audience[64], key[160], value[512];
    for (int64_t made = 0; made < tokens; made++) {
        make_token(token, made);
        sprintf(audience, "place/%08" PRId64 "-0000-4000-8000-000000000000", made % audiences);
        make_key(key, audience, token);
        int length = sprintf(
            value,
            "{\"audience\":\"%s\",\"token\":\"%s\",\"platform\":\"fcm\",\"app\":\"com.example.shop\",\"environment\":\"production\","
            "\"locale\":\"en-GB\",\"registered_at\":\"2026-02-01T00:00:00Z\",\"last_seen_at\":\"2026-02-28T00:00:00Z\"}",
            audience, token);
        produce(producer, topic, key, value, length, NULL);
    }
    if (rd_kafka_flush(producer, 120000)) die("subscriptions", "not delivered within 120 s");
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer);
    return 0;
}
