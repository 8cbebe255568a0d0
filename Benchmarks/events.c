#include "events.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "clients.h"

enum { ITEMS = 5, MAX_BYTES = 8192 };

struct text {
    char *start;
    int length;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...) {
    va_list values;
    va_start(values, format);
    text->length += vsnprintf(text->start + text->length, (size_t)(MAX_EVENT - text->length), format, values);
    va_end(values);
}

struct event_source new_events(int bytes, int places) {
    if (bytes > MAX_BYTES) die("events", "at most 8,192 bytes each");
    return (struct event_source){.random = 0x9E3779B97F4A7C15, .bytes = bytes, .places = places};
}

static unsigned below(struct event_source *source, unsigned limit) { return (unsigned)(next_random(&source->random) % limit); }

static void add_items(struct text *text, struct event_source *source) {
    static const char *const names[] = {"Crème fraîche 200 g", "Oat milk 1 l", "Rye bread \\\"Nordic\\\"", "Brot, dunkel", "Eggs ×12"};
    add(text, "\"items\":[");
    for (int item = 0; item < ITEMS; item++)
        add(text, "%s{\"sku\":\"SKU-%06u\",\"name\":\"%s\",\"quantity\":%u}", item ? "," : "", below(source, 1000000),
            names[below(source, sizeof names / sizeof *names)], below(source, 9) + 1);
    add(text, "],");
}

/* The time slot and its date, in one of the places where producers write them; and the rest of the order. */
static void add_slot(struct text *text, struct event_source *source) {
    unsigned kind = below(source, 10), day = below(source, 28) + 1, start = below(source, 12) + 7, end = start + 2;
    switch (kind) {
    case 0: /* Salesforce */
        add(text,
            "\"shipping_info\":{},\"metadata\":{\"channel\":\"salesforce\",\"delivery_slot_start\":\"2026-03-%02uT%02u:00:00.000+0000\","
            "\"delivery_slot_end\":\"2026-03-%02uT%02u:30:00.000+0000\",",
            day, start, day, end);
        return;
    case 1: /* a drone */
        add(text,
            "\"shipping_info\":{\"slot\":{\"delivery_date\":\"2026-03-%02u\"},\"pickup_details\":{\"time_slot\":\"%02u:00-%02u:30\"}},"
            "\"metadata\":{\"channel\":\"drone\",",
            day, start, end);
        return;
    default:
        add(text,
            "\"shipping_info\":{\"slot\":{\"date\":\"2026-03-%02u\",\"start_time\":\"%02u:00\",\"end_time\":\"%02u:30\"}},"
            "\"metadata\":{\"channel\":\"app\",",
            day, start, end);
    }
}

int make_event(struct event_source *source, char to[MAX_EVENT], char key[KEY_SIZE]) {
    static const char *const statuses[] = {"pending", "processing", "picking", "picked", "shipped", "completed"};
    uint64_t a = next_random(&source->random), b = next_random(&source->random), c = next_random(&source->random);
    int step = (int)(c % 5), is_new = c % 4 == 0;
    struct text text = {to, 0};
    snprintf(key, KEY_SIZE, "%08x-%04x-4%03x-8%03x-%012" PRIx64, (unsigned)(a >> 32), (unsigned)(a >> 16) & 0xffff,
             (unsigned)a & 0xfff, (unsigned)(b >> 48) & 0xfff, b & 0xffffffffffff);
    add(&text,
        "{\"event_id\":\"%016" PRIx64 "%016" PRIx64 "\",\"event_type\":\"%s\",\"occurred_at\":\"2026-03-%02uT%02u:%02u:%02u.%03uZ\",", c,
        a ^ b, is_new ? "ORDER_CREATED" : "ORDER_STATUS_CHANGED", below(source, 28) + 1, below(source, 24), below(source, 60),
        below(source, 60), below(source, 1000));
    if (!is_new) add(&text, "\"previous_status\":\"%s\",\"new_status\":\"%s\",", statuses[step], statuses[step + 1]);
    add(&text,
        "\"order\":{\"id\":\"%s\",\"order_number\":\"ORDER-202603-%" PRId64 "\",\"reference_id\":\"REF-%u\",\"status\":\"%s\","
        "\"order_date\":\"2026-03-01\",\"currency\":\"EUR\",\"total\":%u.%02u,"
        "\"customer\":{\"name\":\"Jürgen Groß\",\"phone\":\"+49 30 %u\"},",
        key, source->made++, below(source, 1000000), statuses[is_new ? 0 : step + 1], below(source, 200), below(source, 100),
        below(source, 10000000));
    add_items(&text, source);
    add(&text, "\"place_id\":\"%08u-0000-4000-8000-000000000000\",", below(source, (unsigned)source->places));
    add_slot(&text, source);
    add(&text, "\"note\":\"");
    while (text.length < source->bytes - 4) to[text.length++] = "etaoin shrdlu cmfwyp"[below(source, 20)];
    add(&text, "\"}}}");
    return text.length;
}

int load(char **argument) {
    setting own[] = {{"bootstrap.servers", argument[0]}, {"enable.idempotence", "true"}, {NULL, NULL}};
    rd_kafka_t *producer = make_client(RD_KAFKA_PRODUCER, make_conf(producer_settings, own));
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, argument[1], NULL);
    struct event_source source = new_events(atoi(argument[3]), atoi(argument[4]));
    char value[MAX_EVENT], key[KEY_SIZE];
    for (int64_t events = atoll(argument[2]); source.made < events;) {
        int length = make_event(&source, value, key);
        produce(producer, topic, key, value, length, NULL);
        if (source.made % 1000 == 0) rd_kafka_poll(producer, 0);
    }
    if (rd_kafka_flush(producer, 60000)) die("load", "not delivered within 60 s");
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer);
    return 0;
}
