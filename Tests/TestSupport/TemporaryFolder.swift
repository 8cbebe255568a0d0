import Foundation

/// The path of a folder for one test, which goes with this value; whoever uses it makes it.
package final class TemporaryFolder: Sendable {
    package let path = NSTemporaryDirectory() + "/carillon-test-" + UUID().uuidString

    package init() {}

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
