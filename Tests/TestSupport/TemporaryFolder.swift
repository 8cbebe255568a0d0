import Foundation

/// The path of a folder for one test, removed together with this value; its user creates it.
package final class TemporaryFolder: Sendable {
    package let path = NSTemporaryDirectory() + "/carillon-test-" + UUID().uuidString

    package init() {}

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
