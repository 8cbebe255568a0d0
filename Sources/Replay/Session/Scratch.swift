import Foundation
import StateStore

/// Disk space for the lookup data of a replay, so that memory does not grow with the range.
///
/// It holds tokens, so it has no name in the file system: nobody else can read it, and nothing is left behind,
/// however the process ends.
package struct Scratch: Sendable {
    private let parent: String

    /// - Parameter parent: an existing folder with enough space for the journal and the subscriptions of the range.
    package init(in parent: String = NSTemporaryDirectory()) {
        self.parent = parent
    }

    /// A new empty store.
    package func store(_ name: String) throws(StoreError) -> any OrderedStore {
        try DiskStore.makeNameless(in: parent, "carillon-replay-\(name)")
    }
}
