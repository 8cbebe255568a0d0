import Foundation

/// The service manager that has started this process and wants to hear from it: systemd, for a unit of `Type=notify`.
///
/// sd_notify(3) documents the protocol as stable: lines in one datagram to the socket that `$NOTIFY_SOCKET` names. That is
/// less than a door to libsystemd, which would also be one more library in each image. Any thread.
package struct ServiceManager: Sendable {
    /// The socket's address, as the kernel takes it.
    private let address: [UInt8]
    /// How often it wants to hear that this process is alive; nil where it does not watch it.
    package let watchdogInterval: Duration?

    /// - Parameters:
    ///   - environment: of the process.
    ///   - processID: of this process: `$WATCHDOG_PID` may name another one.
    /// - Returns: nil where nobody wants to hear from this process.
    package init?(environment: [String: String], processID: Int32 = getpid()) {
        guard let address = environment["NOTIFY_SOCKET"].flatMap(Self.address) else { return nil }
        self.address = address
        let isWatched = environment["WATCHDOG_PID"].map { Int32($0) == processID } ?? true
        let limit = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        watchdogInterval = isWatched ? limit.map { .microseconds($0) / 2 } : nil
    }

    /// A path, or `@` and an abstract name, which begins with a NUL and has none at its end.
    private static func address(_ text: String) -> [UInt8]? {
        let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard text.hasPrefix("/") || text.hasPrefix("@"), text.utf8.count > 1, text.utf8.count <= longest else {
            return nil
        }
        let family = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) }
        return family + (text.hasPrefix("@") ? [0] + text.utf8.dropFirst() : text.utf8 + [0])
    }

    /// Sends the lines at once, and never waits.
    ///
    /// - Returns: whether they were taken.
    package func tell(_ lines: [String]) -> Bool {
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return false }
        defer { close(socket) }
        let text = Array(lines.joined(separator: "\n").utf8)
        return address.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            let sent = sendto(
                socket, text, text.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            return sent == text.count
        }
    }
}
