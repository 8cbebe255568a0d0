#pragma once
#include <microhttpd.h>

// MHD_start_daemon is variadic, which Swift cannot call. One thread serves every connection of a socket that is already
// listening, by poll: 0.9.75 stalls with epoll when exactly 128 sockets are ready. The daemon takes ownership of the socket
// and closes it. NULL if it cannot start.
static inline struct MHD_Daemon *cmicrohttpd_start(
    int listening_socket, unsigned int connection_limit, void *(*request_line)(void *, const char *, struct MHD_Connection *),
    MHD_AccessHandlerCallback handler, MHD_NotifyConnectionCallback notify_connection,
    MHD_RequestCompletedCallback notify_completed, MHD_LogCallback log, void *context) {
    return MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, handler, context,
        // First: what goes wrong with the others is told as well.
        MHD_OPTION_EXTERNAL_LOGGER, log, context,
        MHD_OPTION_LISTEN_SOCKET, listening_socket,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_URI_LOG_CALLBACK, request_line, context,
        MHD_OPTION_NOTIFY_CONNECTION, notify_connection, context,
        MHD_OPTION_NOTIFY_COMPLETED, notify_completed, context,
        MHD_OPTION_END);
}

// MHD_get_connection_info is variadic, too. -1 if it is not known.
static inline int cmicrohttpd_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static inline const struct sockaddr *cmicrohttpd_address(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

// The bytes from the method to the empty line behind the headers.
static inline size_t cmicrohttpd_head_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

// Else it is about to be closed.
static inline int cmicrohttpd_is_start(enum MHD_ConnectionNotificationCode event) {
    return event == MHD_CONNECTION_NOTIFY_STARTED;
}
