import CLMDB
import Glibc

/// What went wrong with a store, and what to do about it.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// A value does not match its checksum, or the file is not what LMDB wrote.
        case damaged
        case diskFull
        /// The store has reached the size that it was opened with.
        case storeFull
        /// This process has the same folder open already.
        case alreadyOpen
        /// Readers are still in use.
        case inUse
        case tooManyReaders
        case closed
        /// A key is empty or longer than 511 bytes.
        case invalidKey
        /// The operating system refused.
        case system
    }

    package enum Recovery: Sendable {
        /// Delete the folder; the log has everything.
        case wipe
        /// Retry later, when there is room.
        case retry
        /// Someone must change something, or it is a bug.
        case stop
    }

    package let kind: Kind
    /// One sentence: what was found, and what to do.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    package var recovery: Recovery {
        switch kind {
        case .damaged: .wipe
        case .diskFull: .retry
        case .storeFull, .alreadyOpen, .inUse, .tooManyReaders, .closed, .invalidKey, .system: .stop
        }
    }

    static let closed = StoreError(.closed, "the store is closed")
}

extension StoreError {
    /// From a code of LMDB or of the operating system.
    init(code: Int32, doing operation: String, in folder: String) {
        let reason = String(cString: mdb_strerror(code))
        switch code {
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH, MDB_INCOMPATIBLE, MDB_BAD_DBI,
            MDB_CURSOR_FULL, MDB_PAGE_FULL,
            // Of a database: each store has both since it was created.
            MDB_NOTFOUND,
            // What LMDB says in a transaction that has met damage before.
            MDB_BAD_TXN:
            self.init(
                .damaged, "the store in \(folder) is damaged (\(operation): \(reason)); delete it, and it is rebuilt")
        case ENOSPC, EDQUOT:
            self.init(.diskFull, "no room on the disk of \(folder) (\(operation)); free some; nothing was lost")
        case MDB_MAP_FULL:
            self.init(.storeFull, "the store in \(folder) has reached its largest size (\(operation))")
        case MDB_READERS_FULL:
            self.init(.tooManyReaders, "too many readers of the store in \(folder)")
        case MDB_BAD_VALSIZE:
            self.init(.invalidKey, "a key of the store in \(folder) is empty or longer than 511 bytes")
        default:
            self.init(.system, "the store in \(folder) cannot be used (\(operation): \(reason))")
        }
    }
}
