// A C interface to simdjson's DOM. The caller walks the tape itself (simdjson/doc/tape.md), so that one parse is one
// call.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// One parser and its buffers, reused from parse to parse. Not thread-safe: one owner at a time.
typedef struct csimdjson_parser csimdjson_parser;

typedef enum csimdjson_status {
    csimdjson_ok = 0,
    csimdjson_empty,
    csimdjson_invalid_utf8,
    csimdjson_invalid_number,
    csimdjson_too_deep,
    csimdjson_invalid_string,
    csimdjson_unclosed,
    csimdjson_syntax,
    csimdjson_too_large,
    csimdjson_out_of_memory,
} csimdjson_status;

// NULL if there is no memory.
csimdjson_parser *csimdjson_create(size_t max_depth);
void csimdjson_destroy(csimdjson_parser *parser);

// Parses a copy of the bytes, which need no padding and may lie in the parser's previous document.
//
// The document is its tape, from the value at index 1 on; the word at index 0 is the address of its strings. Both are
// valid until the parser's next parse or until it is destroyed.
csimdjson_status csimdjson_parse(
    csimdjson_parser *parser, const uint8_t *bytes, size_t count, const uint64_t **document);

#ifdef __cplusplus
}
#endif
