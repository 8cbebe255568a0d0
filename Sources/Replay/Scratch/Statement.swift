import CSQLite

/// A prepared statement of a ``Scratch``: bound to values, then stepped through its rows.
///
/// One that has no rows runs at the first step. Binding begins again.
final class Statement {
    private let scratch: Scratch
    private let statement: OpaquePointer

    init(_ scratch: Scratch, _ sql: String) throws(ScratchError) {
        var prepared: OpaquePointer?
        try scratch.check(
            sqlite3_prepare_v3(scratch.database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil))
        guard let prepared else { throw ScratchError(code: SQLITE_MISUSE, "there is no statement in '\(sql)'") }
        self.scratch = scratch
        statement = prepared
    }

    deinit { sqlite3_finalize(statement) }

    /// Sets the values of the question marks.
    func bind<each Value: ScratchValue>(_ values: repeat each Value) throws(ScratchError) {
        sqlite3_reset(statement)
        var index: Int32 = 0
        var code = SQLITE_OK
        for value in repeat each values {
            index += 1
            code = max(code, value.bind(to: statement, at: index))
        }
        try scratch.check(code)
    }

    /// The next row, valid until the next call; nil after the last one.
    func next() throws(ScratchError) -> Row? {
        let code = sqlite3_step(statement)
        if code == SQLITE_ROW { return Row(statement: statement) }
        let error = code == SQLITE_DONE ? nil : scratch.error(code)
        sqlite3_reset(statement)
        if let error { throw error }
        return nil
    }

    /// Runs it to its end, without its rows.
    func run<each Value: ScratchValue>(_ values: repeat each Value) throws(ScratchError) {
        try bind(repeat each values)
        while try next() != nil {}
    }

    /// Whether it has a row.
    func hasRow<each Value: ScratchValue>(_ values: repeat each Value) throws(ScratchError) -> Bool {
        try bind(repeat each values)
        return try next() != nil
    }
}

/// The current row of a ``Statement``.
struct Row {
    fileprivate let statement: OpaquePointer

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    func optionalNumber(_ column: Int32) -> Int64? { isNull(column) ? nil : number(column) }

    func time(_ column: Int32) -> WallTime { WallTime(milliseconds: number(column)) }

    func optionalTime(_ column: Int32) -> WallTime? { isNull(column) ? nil : time(column) }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// A view; empty for null.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // In this order, as SQLite wants it.
        let start = sqlite3_column_blob(statement, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}

/// What a ``Statement`` takes as a value.
protocol ScratchValue {
    /// The code is SQLite's.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

extension Int64: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, self) }
}

extension WallTime: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { milliseconds.bind(to: statement, at: index) }
}

extension Int32: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { Int64(self).bind(to: statement, at: index) }
}

extension Int: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { Int64(self).bind(to: statement, at: index) }
}

extension Bool: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        Int64(self ? 1 : 0).bind(to: statement, at: index)
    }
}

extension String: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { Array(utf8).bind(to: statement, at: index) }
}

extension UnsafeRawBufferPointer: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        csqlite_bind_copy(statement, index, baseAddress, Int32(count))
    }
}

extension [UInt8]: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        withUnsafeBytes { $0.bind(to: statement, at: index) }
    }
}

extension Optional: ScratchValue where Wrapped: ScratchValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .some(let value): value.bind(to: statement, at: index)
        case .none: sqlite3_bind_null(statement, index)
        }
    }
}
