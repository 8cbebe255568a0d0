import Glibc

/// The other side's address, without its port. Of IPv6 the network of 64 bits: a host may have all of it.
struct ClientAddress: Hashable, Sendable {
    var high: UInt64 = 0
    var low: UInt64 = 0

    /// The same value for all of unknown families.
    init(_ address: UnsafePointer<sockaddr>?) {
        guard let address else { return }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: low = UInt64(raw.load(as: sockaddr_in.self).sin_addr.s_addr)
        case AF_INET6:
            withUnsafeBytes(of: raw.load(as: sockaddr_in6.self).sin6_addr) { bytes in
                high = bytes.loadUnaligned(as: UInt64.self)
                // An IPv4 address in IPv6, ::ffff:a.b.c.d, is one host.
                if bytes.prefix(10).allSatisfy({ $0 == 0 }) {
                    low = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                }
            }
        default: break
        }
    }

    init(low: UInt64) {
        self.low = low
    }

    /// The whole address as text; empty for unknown families.
    static func text(_ address: UnsafePointer<sockaddr>?) -> String {
        guard let address else { return "" }
        var bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: bytes += MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!
        case AF_INET6: bytes += MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!
        default: return ""
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            inet_ntop(Int32(address.pointee.sa_family), bytes, text.baseAddress, socklen_t(text.count))
                .map { String(cString: $0) } ?? ""
        }
    }
}
