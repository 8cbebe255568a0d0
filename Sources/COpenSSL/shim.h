#pragma once
// The low-level SHA-256 is deprecated, but by far the fastest for short inputs: 75 ns against 111 to 330 ns for the EVP
// functions, and it needs no allocated context.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/sha.h>

// Writes the 32 bytes of a SHA-256.
static inline void copenssl_sha256(const void *bytes, size_t count, unsigned char *digest) {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes, count);
    SHA256_Final(digest, &context);
}
