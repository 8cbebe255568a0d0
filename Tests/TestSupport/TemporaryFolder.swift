import Foundation

/// The path of a folder for one test, removed together with this value; its user creates it.
package final class TemporaryFolder: Sendable {
    private static let memory = "/dev/shm"
    package let path: String

    /// - Parameter isInMemory: if there is such a place: what is written is not waited for.
    package init(isInMemory: Bool = false) {
        let hasMemory = isInMemory && FileManager.default.isWritableFile(atPath: Self.memory)
        path = (hasMemory ? Self.memory : NSTemporaryDirectory()) + "/carillon-test-" + UUID().uuidString
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
