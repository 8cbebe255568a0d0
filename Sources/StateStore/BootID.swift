import Glibc

/// Which start of the system this is: another one after each restart of the machine, the same for all processes of one
/// (ADR 45).
package struct BootID: Equatable, Sendable {
    private static let none = "00000000-0000-0000-0000-000000000000"
    /// How far the times of one start may be apart, in seconds: a clock that is set more than that looks like another
    /// start.
    private static let tolerance: Int64 = 10

    /// A UUID: 36 lower-case hex digits and hyphens.
    package let text: String
    /// When the system was started, in seconds since 1970. Some machines have the same UUID after a restart, where their
    /// kernel knew nothing random yet.
    package let time: Int64

    /// Nil unless the text is a UUID as Linux writes it. That of only zeros names no start.
    package init?(_ text: some StringProtocol, time: Int64) {
        let bytes = Array(text.utf8)
        let isUUID =
            bytes.count == Self.none.utf8.count
            && bytes.enumerated().allSatisfy { index, byte in
                switch index {
                case 8, 13, 18, 23: byte == UInt8(ascii: "-")
                default:
                    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
                }
            }
        guard isUUID, text != Self.none else { return nil }
        self.text = String(text)
        self.time = time
    }

    /// Of the running system; nil if it has none that can be read.
    package static func current(in path: String = "/proc/sys/kernel/random/boot_id") -> BootID? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            let count = max(read(descriptor, buffer.baseAddress, buffer.count), 0)
            let line = buffer.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
            return startTime().flatMap { BootID(String(decoding: line, as: UTF8.self), time: $0) }
        }
    }

    /// Whether both are the same start of the system.
    package func isSame(as other: BootID) -> Bool {
        text == other.text && time.subtractingReportingOverflow(other.time).partialValue.magnitude <= Self.tolerance
    }

    /// The time that both clocks give: the one that a person sets, and the one that counts from the start.
    private static func startTime() -> Int64? {
        var now = timespec()
        var up = timespec()
        guard clock_gettime(CLOCK_REALTIME, &now) == 0, clock_gettime(CLOCK_BOOTTIME, &up) == 0 else { return nil }
        return Int64(now.tv_sec) - Int64(up.tv_sec)
    }
}
