import Foundation
import Testing

/// The built `carillon`, run as a user would run it.
struct CommandProcess {
    var status: Int32
    var output: String
    var errors: String

    /// - Parameter environment: the complete environment; nothing is inherited from the test.
    static func run(
        _ arguments: [String], input: String = "", environment: [String: String] = [:]
    ) throws -> CommandProcess {
        let process = Process()
        process.executableURL = try executable()
        process.arguments = arguments
        // A process that exits at once does not free its memory, which is no leak.
        let inherited = ["HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "detect_leaks=0"]
        process.environment = inherited.merging(environment) { $1 }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("carillon-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["in", "out", "err"].map(folder.appendingPathComponent)
        try Data(input.utf8).write(to: files[0])
        for file in files[1...] { try Data().write(to: file) }
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        process.waitUntilExit()
        return CommandProcess(
            status: process.terminationStatus, output: try String(contentsOf: files[1], encoding: .utf8),
            errors: try String(contentsOf: files[2], encoding: .utf8))
    }

    /// It is next to the test bundle.
    static func executable() throws -> URL {
        let folders =
            CommandLine.arguments.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
            + [Bundle.main.bundleURL]
        let found = folders.map { $0.appendingPathComponent("carillon") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        return try #require(found, "no carillon beside \(folders)")
    }
}
