import Foundation

/// The seed of this run of the tests: the commit's, or the one that `TEST_SEED` asks for; `Scripts/seed` has the rule.
package enum RunSeed {
    private static let found = Result { try printed() }

    /// The same for all tests of a run. It is printed, with what repeats it.
    package static func value() throws -> UInt64 {
        let seed = try found.get()
        print("seed \(seed): TEST_SEED=\(seed) swift test")
        return seed
    }

    private static func printed() throws -> UInt64 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Page("Scripts/seed").path)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let seed = UInt64(text.trimmingCharacters(in: .newlines)) else {
            throw NoSeed(description: "Scripts/seed ended with \(process.terminationStatus) and printed '\(text)'")
        }
        return seed
    }

    private struct NoSeed: Error, CustomStringConvertible {
        var description: String
    }
}
