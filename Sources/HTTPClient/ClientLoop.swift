import CCurl
import Glibc

/// What the client's thread does: the only user of libcurl's handles, but for the wake-up.
final class ClientLoop {
    private let multi: OpaquePointer
    private let mailbox: Mailbox
    private let onResults: @Sendable () -> Void
    private let limit: Int
    private let requiresHTTP2: Bool
    private let hasProxy: Bool
    /// How long what was sent may stay unconfirmed by the server's system, in milliseconds.
    private let silence: Int32

    private var transfers: [Transfer] = []
    private var idle: [Transfer] = []
    private var queue = RequestQueue()
    private var connections = Connections()
    private var commands: [Mailbox.Command] = []
    private var results: [HTTPResult] = []
    private var deadline: UInt64?

    /// Whether requests may be sent side by side. Always, unless a fresh connection has to prove itself.
    private var isOpen: Bool
    private let firstAnswerOpens: Bool
    /// The one request that was started while the gate is shut.
    private var candidate: Transfer?
    private var lastRound = ClientLoop.now
    /// In nanoseconds; a wait for answers takes a second at most.
    private static let longestRound: UInt64 = 3_000_000_000

    init(
        _ configuration: HTTPClientConfiguration, multi: OpaquePointer, mailbox: Mailbox,
        onResults: @escaping @Sendable () -> Void
    ) throws(HTTPClientError) {
        self.multi = multi
        self.mailbox = mailbox
        self.onResults = onResults
        limit = configuration.connections * configuration.streams
        requiresHTTP2 = configuration.requiresHTTP2
        hasProxy = configuration.mayUseProxy
        silence = Int32(clamping: configuration.timeout.wholeMilliseconds)
        firstAnswerOpens = configuration.firstAnswerOpens
        isOpen = !configuration.firstAnswerOpens
        for _ in 0..<limit { transfers.append(try Transfer(configuration, loop: self)) }
        idle = transfers
        _ = ccurl_multi_set_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.connections)
        _ = ccurl_multi_set_number(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.streams)
    }

    /// Runs until the client is closed. Every request that was submitted has its result then.
    func run() {
        repeat {
            mailbox.takeCommands(into: &commands)
            for command in commands { carryOut(command) }
            startWaiting()
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            collect()
            publish()
            if isDone { break }
            if !canStart { curl_multi_poll(multi, nil, 0, patience, nil) }
            noticeFreeze()
        } while true
        end()
    }

    /// After the process was stopped for a while, libcurl would first send what it still has: requests that may be too
    /// late by now, and somebody else's by now. Some may have been sent before.
    private func noticeFreeze() {
        let now = Self.now
        defer { lastRound = now }
        guard now - lastRound > Self.longestRound else { return }
        for transfer in transfers {
            guard let request = transfer.request, let startBy = request.startBy, .now > startBy else { continue }
            curl_multi_remove_handle(multi, transfer.handle)
            release(transfer)
            add(request.tag, .failure(.connectionLost(sent: true, detail: "this process was stopped meanwhile")))
        }
    }

    /// Milliseconds; libcurl's own timers and a wake-up end the wait sooner.
    private var patience: Int32 {
        // While requests are in flight a longer wait is a process that was stopped.
        guard let deadline else { return idle.count == transfers.count ? 60_000 : 1_000 }
        let now = Self.now
        return deadline > now ? Int32(clamping: (deadline - now) / 1_000_000 + 1) : 0
    }

    private var isDone: Bool {
        guard let deadline else { return false }
        return queue.isEmpty && idle.count == transfers.count || Self.now >= deadline
    }

    private func carryOut(_ command: Mailbox.Command) {
        switch command {
        case .submit(let requests): for request in requests { queue.append(request) }
        case .cancel(let tags): cancel(Set(tags))
        case .resetAll: cancel(nil)
        case .close(let time): deadline = min(time, deadline ?? time)
        }
    }

    private func cancel(_ tags: Set<UInt64>?) {
        for tag in queue.remove(tags: tags) { add(tag, .failure(.cancelled(sent: false))) }
        for transfer in transfers {
            guard let tag = transfer.request?.tag, tags?.contains(tag) ?? true else { continue }
            curl_multi_remove_handle(multi, transfer.handle)
            release(transfer)
            add(tag, .failure(.cancelled(sent: transfer.turns > 0 && !transfer.isHeld)))
        }
    }

    private func publish() {
        if mailbox.add(&results, opened: connections.opened) { onResults() }
    }

    private func end() {
        cancel(nil)
        for command in mailbox.end() { carryOut(command) }
        cancel(nil)
        candidate = nil
        idle = []
        // Their handles have to be cleaned up before the multi handle that has their connections.
        transfers = []
        curl_multi_cleanup(multi)
        publish()
    }

    private static var now: UInt64 { MonotonicClock.now }
}

// MARK: Transfers

extension ClientLoop {
    private var canStart: Bool {
        !queue.isEmpty && !idle.isEmpty && (isOpen || candidate == nil)
    }

    private func startWaiting() {
        let now = Self.now
        while canStart, let transfer = idle.last, let request = queue.popFirst() {
            if let failure = transfer.prepare(request, at: now) {
                _ = transfer.takeRequest()
                add(request.tag, .failure(failure))
                continue
            }
            idle.removeLast()
            if !isOpen { candidate = transfer }
            curl_multi_add_handle(multi, transfer.handle)
        }
    }

    private func collect() {
        var code = CURLE_OK
        while let handle = ccurl_ended(multi, &code) {
            let transfer = Unmanaged<Transfer>.fromOpaque(ccurl_context(handle)).takeUnretainedValue()
            curl_multi_remove_handle(multi, handle)
            finish(transfer, code)
        }
    }

    private func finish(_ transfer: Transfer, _ code: CURLcode) {
        guard let request = release(transfer) else { return }
        if transfer.isHeld {
            queue.putBack(request)
            return
        }
        let now = Self.now
        guard code == CURLE_OK else {
            let failure = failure(of: transfer, code)
            if failure == .timedOut(sent: true) {
                connections.endIfSilent(transfer.connection, since: transfer.startedAt)
            }
            add(request.tag, .failure(failure))
            return
        }
        let response = transfer.takeResponse(at: now)
        let opens = Self.opens(response.status)
        connections.answered(transfer.connection, at: now, opens: opens)
        if opens { isOpen = true }
        add(request.tag, requiresHTTP2 && !transfer.isHTTP2 ? .failure(.notHTTP2) : .success(response))
    }

    private func failure(of transfer: Transfer, _ code: CURLcode) -> HTTPFailure {
        if transfer.hasTooLargeBody { return .bodyTooLarge }
        if transfer.isTooLate { return .tooLate }
        if code == CURLE_ABORTED_BY_CALLBACK, transfer.turns > 1 {
            return .connectionLost(sent: true, detail: "it ended before the answer")
        }
        return HTTPFailure(code, sent: transfer.turns > 0, hasProxy: hasProxy, detail: transfer.detail)
    }

    @discardableResult
    private func release(_ transfer: Transfer) -> HTTPRequest? {
        if candidate === transfer { candidate = nil }
        idle.append(transfer)
        return transfer.takeRequest()
    }

    private func add(_ tag: UInt64, _ outcome: Result<HTTPResponse, HTTPFailure>) {
        results.append(HTTPResult(tag: tag, outcome: outcome))
    }

    /// Whether an answer shows that the server accepts the credential.
    private static func opens(_ status: Int) -> Bool {
        status < 500 && status != 401 && status != 403 && status != 429
    }
}

// MARK: What the transfers' callbacks ask

extension ClientLoop {
    func connection(port: Int32) -> UInt64 {
        connections.id(port: port) ?? 0
    }

    /// Whether a request may go out on its connection now, or has to wait until the first one there is answered.
    func admits(_ transfer: Transfer) -> Bool {
        guard firstAnswerOpens, !connections.isOpen(transfer.connection) else { return true }
        isOpen = false
        if candidate == nil { candidate = transfer }
        return candidate === transfer
    }

    func opened(_ descriptor: Int32) {
        var yes: Int32 = 1
        var silence = silence
        let size = socklen_t(MemoryLayout<Int32>.size)
        // The system notices a connection whose other side has gone: an idle one by its questions, a busy one by what
        // is not confirmed. Neither is told to libcurl otherwise.
        setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, size)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &silence, size)
        for (option, seconds) in [(TCP_KEEPIDLE, 60), (TCP_KEEPINTVL, 15)] as [(Int32, Int32)] {
            var seconds = seconds
            setsockopt(descriptor, Int32(IPPROTO_TCP), option, &seconds, size)
        }
        connections.add(descriptor)
    }

    func closed(_ descriptor: Int32) {
        connections.remove(descriptor)
    }
}
