import CSQLite

/// A private database on disk for the lookup data of a command, so that memory does not grow with the range.
///
/// It holds tokens, so its file, in `TMPDIR`, has no name: nobody else can open it, and nothing is left behind, however
/// the process ends. All of it is one transaction that never ends, without a journal. One owner, one thread.
package final class Scratch {
    /// What SQLite may keep in memory, in KiB.
    private static let cache = 65_536

    let database: OpaquePointer

    package init() throws(ScratchError) {
        var opened: OpaquePointer?
        let code = sqlite3_open("", &opened)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw ScratchError(code: code, "it cannot be opened")
        }
        database = opened
        try run("PRAGMA journal_mode = OFF")
        try run("PRAGMA synchronous = OFF")
        try run("PRAGMA temp_store = FILE")
        try run("PRAGMA cache_size = -\(Self.cache)")
        try run("BEGIN")
    }

    deinit { sqlite3_close_v2(database) }

    /// Runs a statement once.
    func run(_ sql: String) throws(ScratchError) {
        try check(sqlite3_exec(database, sql, nil, nil, nil))
    }

    func check(_ code: Int32) throws(ScratchError) {
        guard code == SQLITE_OK else { throw error(code) }
    }

    func error(_ code: Int32) -> ScratchError {
        ScratchError(code: code, String(cString: sqlite3_errmsg(database)))
    }
}

/// The lookup data cannot be written or read.
package struct ScratchError: Error, CustomStringConvertible {
    package let description: String
    /// There is no room on the disk: the same command works when there is.
    package let isDiskFull: Bool

    init(code: Int32, _ reason: String) {
        isDiskFull = code & 0xFF == SQLITE_FULL
        description =
            isDiskFull
            ? "there is no room for the temporary data; free some, or set TMPDIR to a folder on another disk"
            : "the temporary data in TMPDIR cannot be used: \(reason)"
    }
}
