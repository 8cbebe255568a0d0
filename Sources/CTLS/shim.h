#pragma once
#include <string.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// Macros and variadic functions, which Swift cannot call, and the few lines that are all about freeing.

static inline EVP_PKEY *ctls_make_p256_key(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"); }
static inline EVP_PKEY *ctls_make_rsa_key(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048); }

static inline void ctls_extend(X509 *certificate, X509 *issuer, int extension, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *made = X509V3_EXT_conf_nid(NULL, &context, extension, value);
    if (made) X509_add_ext(certificate, made, -1);
    X509_EXTENSION_free(made);
}

// A certificate that ends after `seconds`, which may be over. `names` as in "DNS:localhost,IP:127.0.0.1", or NULL for an authority, which signs itself if
// `issuer` is NULL. NULL if OpenSSL fails.
static inline X509 *ctls_make_certificate(
    EVP_PKEY *key, const char *subject, const char *names, X509 *issuer, EVP_PKEY *issuer_key,
    long seconds) {
    X509 *made = X509_new();
    long serial = 0;
    if (!made || RAND_bytes((unsigned char *)&serial, 7) != 1) return NULL;
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), serial);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), seconds);
    X509_set_pubkey(made, key);
    X509_NAME_add_entry_by_txt(
        X509_get_subject_name(made), "CN", MBSTRING_UTF8, (const unsigned char *)subject, -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer ? issuer : made));
    ctls_extend(made, issuer ? issuer : made, NID_basic_constraints, names ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (names) ctls_extend(made, issuer, NID_subject_alt_name, names);
    if (X509_sign(made, issuer ? issuer_key : key, EVP_sha256()) == 0) {
        X509_free(made);
        return NULL;
    }
    return made;
}

// Each writes PEM and returns its length; 0 if it does not fit.
static inline long ctls_take(BIO *memory, char *text, long size) {
    char *data = NULL;
    long count = BIO_get_mem_data(memory, &data);
    if (count > size) count = 0;
    memcpy(text, data, (size_t)count);
    BIO_free(memory);
    return count;
}
static inline long ctls_write_certificate(X509 *certificate, char *text, long size) {
    BIO *memory = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(memory, certificate);
    return ctls_take(memory, text, size);
}
static inline long ctls_write_public_key(EVP_PKEY *key, char *text, long size) {
    BIO *memory = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(memory, key);
    return ctls_take(memory, text, size);
}
static inline long ctls_write_key(EVP_PKEY *key, char *text, long size) {
    BIO *memory = BIO_new(BIO_s_mem());
    PEM_write_bio_PKCS8PrivateKey(memory, key, NULL, NULL, 0, NULL, NULL);
    return ctls_take(memory, text, size);
}

// Lists of protocols for ALPN, in the server's order; for ctls_make_server.
static inline const unsigned char *ctls_protocols_h2(void) { return (const unsigned char *)"\2h2"; }
static inline const unsigned char *ctls_protocols_h2_and_http1(void) {
    return (const unsigned char *)"\2h2\10http/1.1";
}
static inline const unsigned char *ctls_protocols_http1(void) { return (const unsigned char *)"\10http/1.1"; }

static inline int ctls_chose_protocol(
    SSL *tls, const unsigned char **chosen, unsigned char *count, const unsigned char *offered, unsigned int size,
    void *context) {
    (void)tls;
    const unsigned char *known = (const unsigned char *)context;
    unsigned char *found = NULL;
    int result = SSL_select_next_proto(&found, count, known, (unsigned int)strlen((const char *)known), offered, size);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Whether both sides have agreed on HTTP/1.1.
static inline int ctls_speaks_http1(SSL *tls) {
    const unsigned char *chosen = NULL;
    unsigned int count = 0;
    SSL_get0_alpn_selected(tls, &chosen, &count);
    return count == 8 && memcmp(chosen, "http/1.1", 8) == 0;
}

// A server's context: it agrees on one of these protocols or on nothing at all, or is not asked if there are none; no version
// above `highest`. NULL if OpenSSL fails.
static inline SSL_CTX *ctls_make_server(
    X509 *certificate, EVP_PKEY *key, int highest, const unsigned char *protocols) {
    SSL_CTX *made = SSL_CTX_new(TLS_server_method());
    if (!made) return NULL;
    if (highest && highest < TLS1_2_VERSION) {
        // Debian's defaults refuse the old versions; a test wants to offer nothing else.
        SSL_CTX_set_security_level(made, 0);
        SSL_CTX_set_cipher_list(made, "ALL:@SECLEVEL=0");
        SSL_CTX_set_min_proto_version(made, TLS1_VERSION);
    }
    if (highest) SSL_CTX_set_max_proto_version(made, highest);
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (protocols) SSL_CTX_set_alpn_select_cb(made, ctls_chose_protocol, (void *)protocols);
    if (SSL_CTX_use_certificate(made, certificate) != 1 || SSL_CTX_use_PrivateKey(made, key) != 1) {
        SSL_CTX_free(made);
        return NULL;
    }
    return made;
}

// Whether the signature is the key's: RSASSA-PKCS1-v1_5 or ECDSA in DER, with SHA-256.
static inline int ctls_verifies(
    EVP_PKEY *key, const void *text, size_t count, const unsigned char *signature, size_t signature_count) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int result = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestVerify(context, signature, signature_count, (const unsigned char *)text, count) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return result;
}

// The same for the 64 bytes r and s of RFC 7518 §3.4.
static inline int ctls_verifies_es256(EVP_PKEY *key, const void *text, size_t count, const unsigned char *r_and_s) {
    ECDSA_SIG *pair = ECDSA_SIG_new();
    ECDSA_SIG_set0(pair, BN_bin2bn(r_and_s, 32, NULL), BN_bin2bn(r_and_s + 32, 32, NULL));
    unsigned char *der = NULL;
    int size = i2d_ECDSA_SIG(pair, &der);
    int result = size > 0 && ctls_verifies(key, text, count, der, (size_t)size);
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
    return result;
}

// For tests: a signature by such a key, in the form in which a JWT has it. Returns its length, 0 if OpenSSL fails.
static inline size_t ctls_sign_jwt(EVP_PKEY *key, const void *text, size_t count, unsigned char *signature, size_t size) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int made = EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestSign(context, signature, &size, (const unsigned char *)text, count) == 1;
    EVP_MD_CTX_free(context);
    if (!made) return 0;
    if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC) return size;
    const unsigned char *der = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)size);
    if (!pair) return 0;
    unsigned char r_and_s[64];
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), r_and_s, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), r_and_s + 32, 32);
    ECDSA_SIG_free(pair);
    memcpy(signature, r_and_s, 64);
    return 64;
}
