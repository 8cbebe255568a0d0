import Foundation
import StateStore

/// Room on the disk for what a replay has to look up, so that memory does not grow with the range.
///
/// It holds tokens, so it has no names in the file system: nobody else can read it, and nothing of it is left behind,
/// whatever ends the process.
package struct Scratch: Sendable {
    private let parent: String

    /// - Parameter parent: an existing folder with room for the journal and the subscriptions of the range.
    package init(in parent: String = NSTemporaryDirectory()) {
        self.parent = parent
    }

    /// An empty store of its own.
    package func store(_ name: String) throws(StoreError) -> any OrderedStore {
        try DiskStore.makeNameless(in: parent, "carillon-replay-\(name)")
    }
}
