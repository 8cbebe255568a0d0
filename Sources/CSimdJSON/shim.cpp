#include "CSimdJSON.h"

#include <cstring>
#include <memory>
#include <new>

#include <simdjson.h>

struct csimdjson_parser {
    simdjson::dom::parser parser;
    size_t max_depth;
    size_t capacity = 0;
    // simdjson reads up to SIMDJSON_PADDING bytes beyond its input, and librdkafka's payloads have no padding.
    std::unique_ptr<uint8_t[]> input;

    explicit csimdjson_parser(size_t depth) : max_depth(depth) {}

    // Doubles, so that a series of growing documents does not allocate for each.
    simdjson::error_code reserve(size_t count, const uint8_t *bytes) {
        if (count <= capacity) {
            std::memmove(input.get(), bytes, count);
            return simdjson::SUCCESS;
        }
        size_t wanted = capacity == 0 ? 4096 : capacity;
        while (wanted < count) wanted *= 2;
        std::unique_ptr<uint8_t[]> grown(new (std::nothrow) uint8_t[wanted + simdjson::SIMDJSON_PADDING]());
        if (!grown) return simdjson::MEMALLOC;
        // Copied before the document is reallocated: the bytes may lie in it.
        std::memcpy(grown.get(), bytes, count);
        capacity = 0;
        auto error = parser.allocate(wanted, max_depth);
        if (!error) error = parser.doc.allocate(wanted);
        if (error) return error;
        input = std::move(grown);
        capacity = wanted;
        return simdjson::SUCCESS;
    }
};

static csimdjson_status status(simdjson::error_code error) {
    switch (error) {
        case simdjson::SUCCESS: return csimdjson_ok;
        case simdjson::EMPTY: return csimdjson_empty;
        case simdjson::UTF8_ERROR: return csimdjson_invalid_utf8;
        case simdjson::NUMBER_ERROR:
        case simdjson::NUMBER_OUT_OF_RANGE: return csimdjson_invalid_number;
        case simdjson::DEPTH_ERROR: return csimdjson_too_deep;
        case simdjson::STRING_ERROR:
        case simdjson::UNESCAPED_CHARS: return csimdjson_invalid_string;
        case simdjson::UNCLOSED_STRING:
        case simdjson::INCOMPLETE_ARRAY_OR_OBJECT: return csimdjson_unclosed;
        case simdjson::CAPACITY: return csimdjson_too_large;
        case simdjson::MEMALLOC: return csimdjson_out_of_memory;
        default: return csimdjson_syntax;
    }
}

extern "C" csimdjson_parser *csimdjson_create(size_t max_depth) {
    return new (std::nothrow) csimdjson_parser(max_depth);
}

extern "C" void csimdjson_destroy(csimdjson_parser *parser) {
    delete parser;
}

extern "C" csimdjson_status csimdjson_parse(
    csimdjson_parser *parser, const uint8_t *bytes, size_t count, const uint64_t **document) {
    if (count == 0) return csimdjson_empty;
    if (auto error = parser->reserve(count, bytes)) return status(error);
    auto error = parser->parser.parse(parser->input.get(), count, false).error();
    if (error) return status(error);
    // The tape's first word marks the root, and nobody reads it. It holds the address of the strings instead, so that
    // the tape alone describes the document.
    uint64_t *tape = parser->parser.doc.tape.get();
    tape[0] = reinterpret_cast<uintptr_t>(parser->parser.doc.string_buf.get());
    *document = tape;
    return csimdjson_ok;
}
