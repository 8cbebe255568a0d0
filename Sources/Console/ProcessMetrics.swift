import Foundation
import Telemetry

/// What Linux reports about this process, under the names that every Prometheus client library uses; read at each
/// snapshot.
enum ProcessMetrics {
    static func register(in metrics: Metrics) {
        let start = startTime()
        metrics.observe("process_cpu_seconds_total", help: "User and system CPU time spent, in seconds.") {
            [.init(value: .counter(cpuSeconds()))]
        }
        metrics.observe("process_resident_memory_bytes", help: "Resident memory, in bytes; what is mapped counts.") {
            [.init(value: .gauge(residentMemory()))]
        }
        metrics.observe("process_open_fds", help: "Open file descriptors.") {
            [.init(value: .gauge(openFiles()))]
        }
        metrics.observe("process_start_time_seconds", help: "When the process started, in seconds since 1970.") {
            [.init(value: .gauge(start))]
        }
    }

    static func cpuSeconds() -> Double {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .nan }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The second number of statm, in pages.
    static func residentMemory() -> Double {
        let pages = words(of: "/proc/self/statm").dropFirst().first.flatMap { Double($0) }
        return (pages ?? .nan) * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    static func openFiles() -> Double {
        // One of them is the folder itself while it is read.
        let entries = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return entries.map { Double($0.count - 1) } ?? .nan
    }

    /// The time of boot plus the ticks from boot to the process's start: field 22 of its stat, see proc(5). The second
    /// field is a name in parentheses, which may contain spaces.
    static func startTime() -> Double {
        guard let stat = text(of: "/proc/self/stat"), let name = stat.lastIndex(of: ")") else { return .nan }
        let fields = stat[name...].split(separator: " ")
        let boot = words(of: "/proc/stat").drop { $0 != "btime" }.dropFirst().first.flatMap { Double($0) }
        guard fields.count > 20, let ticks = Double(fields[20]), let boot else { return .nan }
        return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func words(of file: String) -> [Substring] {
        (text(of: file) ?? "").split { $0.isWhitespace }
    }

    /// Files in /proc report a size of 0, so they are read to their end.
    private static func text(of file: String) -> String? {
        guard let handle = FileHandle(forReadingAtPath: file), let data = try? handle.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
