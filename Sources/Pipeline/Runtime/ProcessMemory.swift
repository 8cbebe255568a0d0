import Foundation

/// The memory that this process may use, and what it uses.
package enum ProcessMemory {
    private static let pages = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    private static let pageSize = sysconf(Int32(_SC_PAGESIZE))

    /// Its resident memory without files, in bytes; 0 if the system does not tell. Costs one system call.
    static func anonymous() -> Int {
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = pread(pages, buffer.baseAddress, buffer.count, 0)
            // The numbers of pages: all, resident, of these shared with files.
            var (resident, shared, word) = (0, 0, 0)
            for byte in buffer.prefix(max(0, count)) {
                if byte == UInt8(ascii: " ") {
                    word += 1
                } else if word == 1 {
                    resident = resident * 10 + Int(byte & 15)
                } else if word == 2 {
                    shared = shared * 10 + Int(byte & 15)
                }
            }
            return (resident - shared) * pageSize
        }
    }

    /// In bytes: the lowest limit of its control groups, at most the machine's memory.
    package static func available() -> Int {
        let machine = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        let groups = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? ""
        return min(machine, limit(of: groups, below: "/sys/fs/cgroup") ?? machine)
    }

    /// The lowest limit of these groups and of what they are in; nil if none has one.
    ///
    /// - Parameters:
    ///   - groups: as in /proc/self/cgroup: version 2 has one, with the number 0; version 1 has one for `memory`.
    ///   - root: where they are mounted. A container sees its own group there, whatever its path is outside.
    static func limit(of groups: String, below root: String) -> Int? {
        var lowest: Int?
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let file: (folder: String, name: String)
            if parts[0] == "0" {
                file = (root, "memory.max")
            } else if parts[1].split(separator: ",").contains("memory") {
                file = ("\(root)/memory", "memory.limit_in_bytes")
            } else {
                continue
            }
            var path = parts[2].split(separator: "/")
            while true {
                let folder = ([file.folder] + path.map(String.init)).joined(separator: "/")
                let text = try? String(contentsOfFile: "\(folder)/\(file.name)", encoding: .utf8)
                // "max" is no limit.
                if let limit = text.flatMap({ Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }) {
                    lowest = min(lowest ?? limit, limit)
                }
                guard path.popLast() != nil else { break }
            }
        }
        return lowest
    }
}
