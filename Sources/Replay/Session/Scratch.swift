import Foundation
import StateStore

/// A folder for what a replay has to look up, so that memory does not grow with the range; it is gone with this object.
///
/// It holds tokens: nobody else may read it.
package final class Scratch {
    package let path: String

    /// - Parameter parent: an existing folder with room for the journal and the subscriptions of the range.
    package init(in parent: String = NSTemporaryDirectory()) throws {
        path = (parent as NSString).appendingPathComponent("carillon-replay-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        Self.remove(path)
    }

    /// For a process that ends without giving its objects up.
    package static func remove(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// An empty store of its own.
    package func store(_ name: String) throws(StoreError) -> any OrderedStore {
        try DiskStore.open((path as NSString).appendingPathComponent(name)).store
    }
}
