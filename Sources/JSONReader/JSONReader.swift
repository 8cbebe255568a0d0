import CSimdJSON

/// Parses JSON documents one after the other, in buffers that it reuses.
///
/// One owner, any thread. A parse validates the whole document, its UTF-8 included, and allocates only where the
/// document is larger than every one before. A leading byte order mark is skipped: simdjson refuses it, but it means
/// nothing and .NET producers write it.
package struct JSONReader: ~Copyable {
    /// At this many levels a document may be refused; with one level more it always is.
    package static let maxDepth = 64

    /// Created by the first parse, so that a reader that is never used costs nothing.
    private var parser: OpaquePointer?

    package init() {}

    deinit {
        if let parser {
            csimdjson_destroy(parser)
        }
    }

    /// Parses a copy of `bytes`, which may lie in the document of this reader's last parse.
    ///
    /// The document, and every value and text in it, is valid until the reader's next parse or until it is destroyed.
    package mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        var bytes = bytes
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            bytes = UnsafeRawBufferPointer(rebasing: bytes[3...])
        }
        let address = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let owned = parser ?? csimdjson_create(Self.maxDepth)
        guard let owned else { throw .outOfMemory }
        parser = owned
        var document: UnsafePointer<UInt64>?
        let status = csimdjson_parse(owned, address, bytes.count, &document)
        guard status == csimdjson_ok, let document else { throw JSONError(status) }
        return JSONValue(tape: document, index: 1)
    }
}

/// Why a document could not be parsed.
package enum JSONError: Error, Equatable {
    /// Nothing, or nothing but white space.
    case empty
    case invalidUTF8
    /// A number that JSON does not allow (`01`), or that does not fit into 64 bits (`1e400`, 2^64).
    case invalidNumber
    case tooDeep
    /// A raw control character, an unknown escape or half a surrogate pair.
    case invalidString
    /// The document ends in the middle.
    case unclosed
    case syntax
    case tooLarge
    case outOfMemory

    init(_ status: csimdjson_status) {
        switch status {
        case csimdjson_empty: self = .empty
        case csimdjson_invalid_utf8: self = .invalidUTF8
        case csimdjson_invalid_number: self = .invalidNumber
        case csimdjson_too_deep: self = .tooDeep
        case csimdjson_invalid_string: self = .invalidString
        case csimdjson_unclosed: self = .unclosed
        case csimdjson_too_large: self = .tooLarge
        case csimdjson_out_of_memory: self = .outOfMemory
        default: self = .syntax
        }
    }
}
