import Glibc

/// The sockets that libcurl has open for a client, from the socket's creation to its end.
struct Connections {
    struct Connection {
        let id: UInt64
        let descriptor: Int32
        /// The local port; 0 while it is not connected.
        var port: Int32
        /// Whether a request on it was answered so that others may follow.
        var isOpen = false
        /// When the last answer on it ended, in nanoseconds of the monotonic clock.
        var lastAnswer: UInt64 = 0
    }

    private var connections: [Connection] = []
    /// How many there have been.
    private(set) var opened: UInt64 = 0

    mutating func add(_ descriptor: Int32) {
        opened += 1
        connections.append(Connection(id: opened, descriptor: descriptor, port: 0))
    }

    mutating func remove(_ descriptor: Int32) {
        connections.removeAll { $0.descriptor == descriptor }
    }

    /// The connection with this local port. The port of another one that has ended may be given again, so only sockets
    /// that exist are asked.
    mutating func id(port: Int32) -> UInt64? {
        if let found = connections.first(where: { $0.port == port }) { return found.id }
        for index in connections.indices where connections[index].port == 0 {
            connections[index].port = Self.port(of: connections[index].descriptor)
            if connections[index].port == port { return connections[index].id }
        }
        return nil
    }

    func isOpen(_ id: UInt64) -> Bool {
        connections.first { $0.id == id }?.isOpen ?? false
    }

    mutating func answered(_ id: UInt64, at time: UInt64, opens: Bool) {
        guard let index = connections.firstIndex(where: { $0.id == id }) else { return }
        connections[index].lastAnswer = time
        if opens { connections[index].isOpen = true }
    }

    /// Ends a connection on which nothing was answered since `time`, for both sides.
    ///
    /// libcurl ends the stream of a request that timed out and keeps the connection, also where nothing comes through
    /// it any more.
    func endIfSilent(_ id: UInt64, since time: UInt64) {
        guard let connection = connections.first(where: { $0.id == id }), connection.lastAnswer < time else { return }
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
    }

    private static func port(of descriptor: Int32) -> Int32 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getsockname(descriptor, address, &size) == 0 else { return 0 }
                // The port is at the same offset in both families, in network order.
                return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    Int32(UInt16(bigEndian: $0.pointee.sin_port))
                }
            }
        }
    }
}
