import CTLS
import Glibc

/// What a server's thread does.
final class ServerLoop {
    private let listening: Int32
    private let woken: Int32
    private let context: OpaquePointer
    let shared: Shared
    let handler: StandInServer.Handler
    let omitsLength: Bool

    private var connections: [ServerConnection] = []
    private var accepted: UInt64 = 0
    private var isStopped = false

    init(
        listening: Int32, woken: Int32, context: OpaquePointer, shared: Shared, omitsLength: Bool,
        handler: @escaping StandInServer.Handler
    ) {
        self.listening = listening
        self.woken = woken
        self.context = context
        self.shared = shared
        self.handler = handler
        self.omitsLength = omitsLength
    }

    func run() {
        var polled: [pollfd] = []
        while !isStopped {
            polled.removeAll(keepingCapacity: true)
            polled.append(pollfd(fd: woken, events: Int16(POLLIN), revents: 0))
            polled.append(pollfd(fd: listening, events: Int16(POLLIN), revents: 0))
            for connection in connections {
                // One that is stalled is not looked at: -1.
                let descriptor = connection.isStalled ? -1 : connection.descriptor
                polled.append(pollfd(fd: descriptor, events: connection.events, revents: 0))
            }
            poll(&polled, nfds_t(polled.count), patience())
            if polled[0].revents != 0 { carryOutCommands() }
            for (index, connection) in connections.enumerated() where polled[index + 2].revents != 0 {
                connection.progress()
            }
            let now = MonotonicClock.now
            for connection in connections { connection.answerDue(at: now) }
            if polled[1].revents != 0 { acceptAll() }
            connections.removeAll { $0.isEnded }
            let open = connections.count
            shared.state.withLock { $0.counts.openConnections = open }
        }
        for connection in connections { connection.end() }
        connections = []
        close(listening)
        close(woken)
        SSL_CTX_free(context)
    }

    /// Milliseconds until the next answer is due; -1 if none waits.
    private func patience() -> Int32 {
        guard let next = connections.compactMap(\.nextDue).min() else { return -1 }
        let now = MonotonicClock.now
        return next > now ? Int32(clamping: (next - now) / 1_000_000 + 1) : 0
    }

    private func carryOutCommands() {
        var buffer = [UInt8](repeating: 0, count: 64)
        while read(woken, &buffer, buffer.count) > 0 {}
        let commands = shared.state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
        for command in commands {
            switch command {
            case .stop: isStopped = true
            case .settings(let faults): for connection in connections { connection.submitSettings(faults) }
            case .answerWaiting: for connection in connections { connection.answerDue(at: .max) }
            }
        }
    }

    private func acceptAll() {
        while true {
            let descriptor = accept(listening, nil, nil)
            guard descriptor >= 0 else { return }
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            var yes: Int32 = 1
            setsockopt(
                descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            guard let tls = SSL_new(context) else {
                close(descriptor)
                return
            }
            accepted += 1
            SSL_set_fd(tls, descriptor)
            connections.append(ServerConnection(descriptor, tls, number: accepted, loop: self))
            shared.state.withLock { $0.counts.connections += 1 }
        }
    }
}

enum MonotonicClock {
    /// Nanoseconds since some time in the past.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
