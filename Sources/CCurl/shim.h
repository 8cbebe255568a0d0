#pragma once
// Handles become pointers to distinct types: OpaquePointer in Swift, and not one for the other in C.
#define CURL_STRICTER 1
#include <curl/curl.h>
#include <openssl/ssl.h>
#include <sys/prctl.h>

// curl_easy_setopt and its relatives are variadic, which Swift cannot call: one function for each type of argument.
static inline CURLcode ccurl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_open_socket(CURL *handle, curl_opensocket_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}
static inline CURLcode ccurl_set_writer(CURL *handle, curl_write_callback writer, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, writer);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_WRITEDATA, context) : code;
}
static inline int ccurl_status(CURL *handle) {
    long status = 0;
    return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? (int)status : 0;
}
// The next transfer that has ended, and how; NULL if there is none.
static inline CURL *ccurl_ended(CURLM *multi, CURLcode *code) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            *code = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}
static inline void *ccurl_context(CURL *handle) {
    char *context = NULL;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &context);
    return context;
}
static inline CURLcode ccurl_offer_http2_alone(CURL *handle, void *context, void *user) {
    (void)handle;
    (void)user;
    return SSL_CTX_set_alpn_protos((SSL_CTX *)context, (const unsigned char *)"\2h2", 3) ? CURLE_OUT_OF_MEMORY : CURLE_OK;
}
// Offers HTTP/2 by ALPN and nothing else, without libcurl's knowing.
static inline CURLcode ccurl_offer_http2(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, ccurl_offer_http2_alone);
}
// Of the last connect() that failed; 0 if none did.
static inline int ccurl_system_error(CURL *handle) {
    long error = 0;
    return curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error) == CURLE_OK ? (int)error : 0;
}
// What OpenSSL says of the server's certificate: X509_V_OK or X509_V_ERR_...
static inline int ccurl_verification(CURL *handle) {
    long result = X509_V_OK;
    return curl_easy_getinfo(handle, CURLINFO_SSL_VERIFYRESULT, &result) == CURLE_OK ? (int)result : X509_V_OK;
}
static inline int ccurl_socket(CURL *handle) {
    curl_socket_t found = -1;
    return curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &found) == CURLE_OK ? (int)found : -1;
}
// Whether both sides have agreed on HTTP/2 by ALPN.
static inline int ccurl_speaks_http2(CURL *handle) {
    struct curl_tlssessioninfo *info = NULL;
    if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info || !info->internals
        || info->backend != CURLSSLBACKEND_OPENSSL)
        return 0;
    const unsigned char *chosen = NULL;
    unsigned int count = 0;
    SSL_get0_alpn_selected((const SSL *)info->internals, &chosen, &count);
    return count == 2 && chosen[0] == 'h' && chosen[1] == '2';
}
static inline CURLcode ccurl_start(void) { return curl_global_init(CURL_GLOBAL_ALL); }

// The name of the calling thread in the system's lists, 15 bytes at most. prctl is variadic, too.
static inline void ccurl_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
