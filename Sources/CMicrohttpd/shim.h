#pragma once
#include <microhttpd.h>

// MHD_start_daemon is variadic, which Swift cannot call. One polling thread serves every connection of a socket that is
// already listening. The daemon takes ownership of the socket and closes it. NULL if it cannot start.
static inline struct MHD_Daemon *cmicrohttpd_start(
    int listening_socket, unsigned int connection_limit, unsigned int timeout_seconds,
    MHD_AccessHandlerCallback handler, void *context) {
    return MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handler, context,
        MHD_OPTION_LISTEN_SOCKET, listening_socket,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, timeout_seconds,
        MHD_OPTION_END);
}
