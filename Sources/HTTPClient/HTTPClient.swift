import CCurl
import Glibc
import Synchronization

/// Sends requests by HTTP/2, many at a time, on a thread of its own: libcurl connects, nghttp2 speaks HTTP/2.
///
/// No call blocks but `close`. Requests wait in a queue, first in, first out, for one of `connections` × `streams`
/// streams. A request that may have been sent is never sent again: what became of it is the caller's decision, and
/// `HTTPFailure.mayHaveArrived` helps. Connections are made when they are needed, and again after they have ended.
///
/// A client is for requests that may share a connection: for APNs those of one team and environment.
package final class HTTPClient: Sendable {
    private let mailbox: Mailbox
    private let thread: Mutex<pthread_t?>
    /// Requests in flight at most; any further ones wait.
    package let capacity: Int

    /// Starts the thread.
    ///
    /// - Parameter onResults: there are results where there were none. Called on the client's thread, which does
    ///   nothing else meanwhile.
    package init(
        _ configuration: HTTPClientConfiguration, onResults: @escaping @Sendable () -> Void
    ) throws(HTTPClientError) {
        try configuration.check()
        guard Self.isLibraryReady, let multi = curl_multi_init() else {
            throw HTTPClientError(description: "libcurl does not start")
        }
        capacity = configuration.connections * configuration.streams
        mailbox = Mailbox(Mailbox.MultiHandle(pointer: multi))
        let loop = ClientLoop(configuration, multi: multi, mailbox: mailbox, onResults: onResults)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(loop)
        let code = pthread_create(&thread, nil, runLoop, context.toOpaque())
        guard code == 0 else {
            context.release()
            curl_multi_cleanup(multi)
            throw HTTPClientError(description: "no thread for HTTP: \(String(cString: strerror(code)))")
        }
        self.thread = Mutex(thread)
    }

    deinit {
        close()
    }

    /// Adds requests to the queue. After `close` each is `cancelled` at once.
    package func submit(_ requests: [HTTPRequest]) {
        guard !requests.isEmpty, !mailbox.send(.submit(requests)) else { return }
        var results = requests.map { HTTPResult(tag: $0.tag, outcome: .failure(.cancelled(sent: false))) }
        _ = mailbox.add(&results, opened: mailbox.opened)
    }

    /// Moves the results that there are to the end of `results`, in the order in which requests ended.
    package func takeResults(into results: inout [HTTPResult]) {
        mailbox.takeResults(into: &results)
    }

    /// Ends the requests with these tags: each has a result, `cancelled` unless it had one already.
    package func cancel(tags: [UInt64]) {
        _ = mailbox.send(.cancel(tags))
    }

    /// The number of connections that were begun so far.
    package var connectionsOpened: UInt64 { mailbox.opened }

    /// Waits until every request has its result, but no longer than this, and then ends those that have none, the
    /// connections and the thread. Results can be taken afterwards. Further calls do nothing.
    package func close(within time: Duration = .zero) {
        thread.withLock { thread in
            guard let running = thread else { return }
            thread = nil
            _ = mailbox.send(.close(deadline: MonotonicClock.now + time.wholeNanoseconds))
            // A thread that drops the last reference to its client cannot wait for itself.
            if pthread_equal(running, pthread_self()) != 0 {
                pthread_detach(running)
            } else {
                pthread_join(running, nil)
            }
        }
    }

    /// Once a process; any thread.
    static let isLibraryReady = ccurl_start() == CURLE_OK
}

private func runLoop(context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    ccurl_name_thread("http-client")
    // Signals are for the program's other threads, and a connection that has ended is an error code and no SIGPIPE.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    Unmanaged<ClientLoop>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

extension HTTPClientConfiguration {
    fileprivate func check() throws(HTTPClientError) {
        guard connections >= 1, streams >= 1 else {
            throw HTTPClientError(description: "an HTTP client needs at least one connection and one stream")
        }
        if let caFile, access(caFile, R_OK) != 0 {
            throw HTTPClientError(description: "cannot read \(caFile): \(String(cString: strerror(errno)))")
        }
    }

    /// Whether a proxy was named. Hosts of `NO_PROXY` are reached without it even so.
    var mayUseProxy: Bool {
        switch proxy {
        case .none: false
        case .url(let url): !url.isEmpty
        case .environment:
            ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains { getenv($0 as String) != nil }
        }
    }
}
