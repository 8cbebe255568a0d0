import Glibc

enum UnixTime {
    /// Seconds.
    static var now: Int64 { Int64(time(nil)) }
}

enum HTTPDate {
    /// As in `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7): the names are English, since no locale is set.
    static func text(_ seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return String(unsafeUninitializedCapacity: 64) { text in
            text.withMemoryRebound(to: CChar.self) {
                strftime($0.baseAddress!, $0.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            }
        }
    }
}
