import Glibc

/// An address of IPv4 or IPv6, without a port. One of IPv4 is the same as it is in IPv6, `::ffff:a.b.c.d`.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    fileprivate var high: UInt64
    fileprivate var low: UInt64
    private static let mapped: UInt64 = 0xFFFF_0000_0000

    fileprivate var isMapped: Bool { high == 0 && low & ~0xFFFF_FFFF == Self.mapped }

    /// nil where the text is no address. A zone, as in `fe80::1%eth0`, is none.
    package init?(_ text: some StringProtocol) {
        // The longest has 45 bytes: that of a client may be as long as a head.
        guard text.utf8.count <= 45 else { return nil }
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, String(text), &four) == 1 {
            (high, low) = (0, Self.mapped | UInt64(UInt32(bigEndian: four.s_addr)))
        } else if inet_pton(AF_INET6, String(text), &six) == 1 {
            (high, low) = withUnsafeBytes(of: six) { bytes in
                (
                    UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
        } else {
            return nil
        }
    }

    /// What a client cannot change at will: of IPv6 the network of 64 bits, in which each has all addresses.
    package var origin: String {
        guard !isMapped else { return description }
        var network = self
        network.low = 0
        return "\(network)/64"
    }

    /// As inet_ntop writes it.
    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            let size = socklen_t(text.count)
            if isMapped {
                var address = UInt32(truncatingIfNeeded: low).bigEndian
                inet_ntop(AF_INET, &address, text.baseAddress, size)
            } else {
                var address = (high.bigEndian, low.bigEndian)
                inet_ntop(AF_INET6, &address, text.baseAddress, size)
            }
            return text.baseAddress.map { String(cString: $0) } ?? ""
        }
    }
}

/// The addresses that begin with the same bits.
public struct IPNetwork: Hashable, Sendable {
    private let first: IPAddress
    /// The bits that are the same, of 128.
    private let bits: Int

    /// nil where the text is neither an address nor a network such as `10.0.0.0/8`, or sets bits behind those.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = IPAddress(parts[0]) else { return nil }
        let isIPv4 = !parts[0].contains(":")
        let most = isIPv4 ? 32 : 128
        var length = most
        if parts.count > 1 {
            guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let given = Int(parts[1]), given <= most
            else { return nil }
            length = given
        }
        (self.first, bits) = (first, length + 128 - most)
        guard first.high & ~mask.high == 0, first.low & ~mask.low == 0 else { return nil }
    }

    package func contains(_ address: IPAddress) -> Bool {
        (address.high ^ first.high) & mask.high == 0 && (address.low ^ first.low) & mask.low == 0
    }

    private var mask: (high: UInt64, low: UInt64) {
        // A shift by 64 gives zero.
        (~0 << UInt64(64 - min(bits, 64)), ~0 << UInt64(64 - max(bits - 64, 0)))
    }
}
