import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite("The memory that a process may use, and what the orders may take of it")
struct ProcessMemoryTests {
    /// Folders of control groups with these files.
    private func limit(_ groups: String, _ files: [String: String]) throws -> Int? {
        let root = FileManager.default.temporaryDirectory.path + "/carillon-groups-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: root) }
        for (path, text) in files {
            let folder = (root + "/" + path as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: root + "/" + path))
        }
        return ProcessMemory.limit(of: groups, below: root)
    }

    @Test("is the lowest limit of its control group, of either version, and of what that is in")
    func limits() throws {
        let (unit, pod) = ("0::/system.slice/carillon.service\n", "5:cpu,memory:/kubepods/pod1\n1:name=systemd:/\n")
        #expect(try limit(unit, ["system.slice/carillon.service/memory.max": "2147483648\n"]) == 2_147_483_648)
        #expect(
            try limit(unit, ["system.slice/carillon.service/memory.max": "max\n", "system.slice/memory.max": "7\n"])
                == 7)
        #expect(try limit("0::/\n", ["memory.max": "max\n"]) == nil)
        #expect(try limit(pod, ["memory/kubepods/pod1/memory.limit_in_bytes": "5\n"]) == 5)
        // A container's own group is mounted as the root.
        #expect(try limit(pod, ["memory/memory.limit_in_bytes": "6\n"]) == 6)
        #expect(try limit("", [:]) == nil)
        #expect(try limit("0\n:::\n", [:]) == nil)
    }

    @Test("is positive, and at most the machine's")
    func machine() {
        #expect(ProcessMemory.available() > 1 << 20)
        #expect(ProcessMemory.available() <= sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)))
    }

    @Test("full partitions have three quarters of it; more than that is a warning at the start")
    func room() throws {
        let configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        let memory = OrderMemory(configuration, available: 2 << 30)
        #expect(
            memory.text
                == "The orders of a partition take at most 128 MiB (state.max-bytes), and this process may use 2048 MiB: room for 12 full partitions."
        )
        #expect(
            memory.text(partitions: 12)
                == (
                    "the orders of 12 partitions take at most 1536 MiB (state.max-bytes), and this process may use 2048 MiB",
                    false
                ))
        #expect(memory.text(partitions: 13).isTooMuch)
    }
}
