import CCurl
import Glibc

/// What the client's thread does: the only user of the connections and of libcurl's handles, but for the wake-up.
final class ClientLoop {
    let multi: OpaquePointer
    let sockets: ConnectHandle.SocketObserver
    let hasProxy: Bool
    /// Memory that every connection uses in its turn.
    var head = RequestHead()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Connection.block, alignment: 16)
    private let configuration: HTTPClientConfiguration
    private let mailbox: Mailbox
    private let onResults: @Sendable () -> Void
    private let timeout: UInt64
    private let keptHeaders: [(name: String, bytes: [UInt8])]

    private var transfers: [Transfer] = []
    private var idle: [Transfer] = []
    private var queue = RequestQueue()
    private var origins: [Origin] = []
    private var commands: [Mailbox.Command] = []
    private var results: [HTTPResult] = []
    private var waits: [curl_waitfd] = []
    private var deadline: UInt64?
    /// When the oldest request may have taken too long.
    private var nextExpiry = UInt64.max
    private var lastRound = MonotonicClock.now
    /// In nanoseconds; a wait for answers takes a second at most.
    private let longestRound: UInt64

    init(
        _ configuration: HTTPClientConfiguration, multi: OpaquePointer, mailbox: Mailbox,
        onResults: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.multi = multi
        self.mailbox = mailbox
        self.onResults = onResults
        hasProxy = configuration.mayUseProxy
        timeout = configuration.timeout.wholeNanoseconds
        longestRound = configuration.longestRound.wholeNanoseconds
        keptHeaders = configuration.keptHeaders.map { ($0, Array($0.utf8)) }
        sockets = ConnectHandle.SocketObserver(silence: Int32(clamping: configuration.timeout.wholeMilliseconds))
        for _ in 0..<(configuration.connections * configuration.streams) { transfers.append(Transfer()) }
        idle = transfers
    }

    deinit { buffer.deallocate() }

    /// Runs until the client is closed. Every request that was submitted has its result then.
    func run() {
        repeat {
            mailbox.takeCommands(into: &commands)
            for command in commands { carryOut(command) }
            startWaiting()
            connect()
            publish()
            if isDone { break }
            wait()
        } while true
        end()
    }

    // MARK: What the owner wants

    private var isDone: Bool {
        guard let deadline else { return false }
        return queue.isEmpty && idle.count == transfers.count || MonotonicClock.now >= deadline
    }

    private func carryOut(_ command: Mailbox.Command) {
        switch command {
        case .submit(let requests): for request in requests { queue.append(request) }
        case .cancel(let tags): cancel(Set(tags))
        case .close(let time): deadline = min(time, deadline ?? time)
        }
    }

    private func cancel(_ tags: Set<UInt64>?) {
        for tag in queue.remove(tags: tags) { add(tag, .failure(.cancelled(sent: false))) }
        giveUp { transfer in
            guard let tag = transfer.request?.tag, tags?.contains(tag) ?? true else { return nil }
            return .cancelled(sent: transfer.isSent)
        }
        for connection in connections { connection.flush() }
    }

    private func publish() {
        if mailbox.add(&results, opened: sockets.opened) { onResults() }
    }

    private func end() {
        cancel(nil)
        for command in mailbox.end() { carryOut(command) }
        cancel(nil)
        for connection in connections { connection.end(.cancelled(sent: false)) }
        origins = []
        curl_multi_cleanup(multi)
        publish()
    }

    // MARK: Requests

    /// Gives what waits to connections, and makes connections for what has none.
    private func startWaiting() {
        // In this order: what the process is stopped for in between counts as passed.
        let (now, instant) = (MonotonicClock.now, ContinuousClock.now)
        while !idle.isEmpty, let request = queue.popFirst() { begin(request, now, instant) }
        for origin in origins where origin.hasWaiting {
            origin.endIdle(now: now)
            send(origin)
            guard origin.wantsConnection(limit: configuration.connections, now: now) else { continue }
            do throws(HTTPClientError) {
                origin.add(try Connection(to: origin.name, configuration, of: self))
            } catch {
                fail(origin.takeWaiting(), .other(code: 0, sent: false, detail: error.description))
            }
        }
    }

    private func begin(_ request: HTTPRequest, _ now: UInt64, _ instant: ContinuousClock.Instant) {
        guard let origin = origin(of: request.url) else {
            return add(request.tag, .failure(.invalidRequest(detail: "the address is none of https:// with a host")))
        }
        if let name = HTTPAddress.unusable(request.headers) {
            return add(
                request.tag,
                .failure(.invalidRequest(detail: "the header \(name) has a character that no header may have")))
        }
        let transfer = idle.removeLast()
        transfer.begin(request, at: now, within: timeout, longestWait: longestRound, instant: instant)
        nextExpiry = min(nextExpiry, transfer.nextExpiry(after: now))
        origin.wait(transfer)
    }

    /// Sends what waits, as far as there are streams.
    private func send(_ origin: Origin) {
        while let connection = origin.room {
            while connection.hasRoom, let transfer = origin.takeFirst() {
                guard let request = transfer.request else { continue }
                if transfer.hasWaitedTooLong {
                    finish(transfer, .failure(.tooLate))
                } else if !connection.submit(transfer, request) {
                    origin.putBack(transfer)
                }
            }
            connection.flush()
            if !origin.hasWaiting { return }
        }
    }

    private func origin(of url: String) -> Origin? {
        // Nearly all are for a server that is known.
        if let known = origins.first(where: { HTTPAddress.isAt(url, $0.name) }) { return known }
        guard let name = HTTPAddress.origin(of: url) else { return nil }
        if let known = origins.first(where: { $0.name == name }) { return known }
        let made = Origin(name)
        origins.append(made)
        return made
    }

    /// A request has its result.
    func finish(_ transfer: Transfer, _ outcome: Result<HTTPResponse, HTTPFailure>) {
        guard let request = transfer.end() else { return }
        idle.append(transfer)
        add(request.tag, outcome)
    }

    private func fail(_ transfers: [Transfer], _ failure: HTTPFailure) {
        for transfer in transfers { finish(transfer, .failure(failure)) }
    }

    private func add(_ tag: UInt64, _ outcome: Result<HTTPResponse, HTTPFailure>) {
        results.append(HTTPResult(tag: tag, outcome: outcome))
    }

    /// Ends those requests for which there is a failure, wherever they are.
    private func giveUp(_ failure: (Transfer) -> HTTPFailure?) {
        for transfer in transfers {
            guard let failure = failure(transfer) else { continue }
            if let connection = transfer.connection {
                connection.reset(transfer)
            } else {
                for origin in origins { _ = origin.takeWaiting { $0 === transfer } }
            }
            finish(transfer, .failure(failure))
        }
    }

    /// Ends what has taken too long, and what was not sent by its time. Before anything more is sent.
    private func expire(_ now: UInt64) {
        var silent: [(connection: Connection, since: UInt64)] = []
        giveUp { transfer in
            guard transfer.request != nil else { return nil }
            if now >= transfer.endsAt {
                if let connection = transfer.connection { silent.append((connection, transfer.startedAt)) }
                return .timedOut(sent: transfer.isSent)
            }
            return now >= transfer.sendBy && !transfer.isSent ? .tooLate : nil
        }
        for item in silent { item.connection.endIfSilent(since: item.since) }
        for transfer in transfers where now >= transfer.sendBy && transfer.isStuck {
            transfer.connection?.endIfBlocked("a request that it did not take in time could not be taken back")
        }
        nextExpiry = transfers.lazy.map { $0.nextExpiry(after: now) }.min() ?? .max
    }

    /// Whether the process was stopped for a while, as seen before each write: what was made before would be sent now, with a
    /// lifetime that is too long by now, and as somebody else's by now.
    func wasStopped(at now: UInt64 = MonotonicClock.now) -> Bool { now - lastRound > longestRound }

    static let stopped = "this process was stopped meanwhile"

    /// Takes back what the server does not have all of yet; what waits for a stream is looked at when it gets one.
    private func continueAfterStop() {
        giveUp { transfer in
            transfer.connection == nil || transfer.isSent || transfer.request?.madeAt == nil ? nil : .tooLate
        }
        for connection in connections { connection.endIfBlocked(Self.stopped) }
    }

    /// The configured name of a header of an answer that is kept.
    func keptHeader(_ name: UnsafeRawBufferPointer) -> String? {
        keptHeaders.first { $0.bytes.count == name.count && $0.bytes.elementsEqual(name) }?.name
    }
}

// MARK: Connections

extension ClientLoop {
    private var connections: [Connection] { origins.flatMap(\.connections) }

    /// Lets libcurl continue with the connections that are being made.
    private func connect() {
        guard connections.contains(where: \.isConnecting) else { return }
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        var code = CURLE_OK
        while let handle = ccurl_ended(multi, &code) {
            Unmanaged<Connection>.fromOpaque(ccurl_context(handle)).takeUnretainedValue().connected(code)
        }
    }

    /// Waits until a connection has something, libcurl's own timers are due, or somebody wakes the client; reads what is
    /// there, ends what is too late, and only then sends more.
    private func wait() {
        let connections = connections
        let connected = connections.filter { $0.descriptor >= 0 }
        waits.removeAll(keepingCapacity: true)
        for connection in connected {
            let events = CURL_WAIT_POLLIN | (connection.isBlocked ? CURL_WAIT_POLLOUT : 0)
            waits.append(curl_waitfd(fd: connection.descriptor, events: Int16(events), revents: 0))
        }
        curl_multi_poll(multi, &waits, UInt32(waits.count), patience, nil)
        for (connection, wait) in zip(connected, waits) where wait.revents != 0 { connection.receive() }
        let now = MonotonicClock.now
        for connection in connections { connection.tick(now) }
        if wasStopped(at: now) { continueAfterStop() }
        lastRound = now
        if now >= nextExpiry { expire(now) }
        for connection in connections { connection.flush() }
    }

    /// Milliseconds.
    private var patience: Int32 {
        if hasRoomForWaiting { return 0 }
        // While requests are in flight a longer wait is a process that was stopped.
        let longest: UInt64 = idle.count == transfers.count ? 60_000_000_000 : 1_000_000_000
        let now = MonotonicClock.now
        let until = min(now + longest, nextExpiry, deadline ?? .max)
        return until > now ? Int32(clamping: (until - now) / 1_000_000 + 1) : 0
    }

    /// Whether something that waits can continue at once, since a request has ended after it was looked at.
    private var hasRoomForWaiting: Bool {
        !queue.isEmpty && !idle.isEmpty || origins.contains { $0.hasWaiting && $0.room != nil }
    }

    /// A connection has ended: so have its requests, and, if it never came about and there is no other one, those that
    /// waited for it.
    func ended(_ connection: Connection, _ failure: HTTPFailure, wasReady: Bool) {
        fail(transfers.filter { $0.connection === connection }, failure)
        guard let origin = origins.first(where: { $0.name == connection.origin }) else { return }
        let isAlone = origin.remove(connection, now: MonotonicClock.now)
        if isAlone, !wasReady { fail(origin.takeWaiting(), failure) }
    }
}
