import Foundation
import TestSupport
import Testing

@testable import StateStore

extension TemporaryFolder {
    var dataFile: URL { URL(fileURLWithPath: path + "/data.mdb") }
    var marker: URL { URL(fileURLWithPath: path + "/in-use") }
}

/// The kinds of store, for the tests that all of them must pass.
enum StoreKind: CaseIterable {
    case memory, disk

    func make(in folder: TemporaryFolder) throws -> any OrderedStore {
        switch self {
        case .memory: MemoryStore()
        case .disk: try DiskStore.open(folder.path, largestSize: 1 << 30).store
        }
    }
}

extension OrderedStore {
    /// Applies changes given as text; a nil value removes the key.
    func change(_ changes: [(String, String?)], checkpoint: String? = nil) throws {
        try write { writer throws(StoreError) in
            for (key, value) in changes {
                if let value {
                    try withBytes(of: key) { key throws(StoreError) in
                        try withBytes(of: value) { value throws(StoreError) in try writer.put(key, value) }
                    }
                } else {
                    try withBytes(of: key) { key throws(StoreError) in _ = try writer.remove(key) }
                }
            }
            if let checkpoint {
                try withBytes(of: checkpoint) { bytes throws(StoreError) in try writer.setCheckpoint(bytes) }
            }
        }
    }

    /// Everything in it, in order.
    func content() throws -> [Pair] {
        let reader = try makeReader()
        try reader.begin()
        return try reader.content()
    }

    func checkpoint() throws -> String? {
        let reader = try makeReader()
        try reader.begin()
        return try reader.checkpoint().map { String(decoding: $0, as: UTF8.self) }
    }
}

struct Pair: Equatable {
    var key: String
    var value: String

    init(_ key: String, _ value: String) {
        self.key = key
        self.value = value
    }

    init(_ entry: StoreEntry) {
        self.init(String(decoding: entry.key, as: UTF8.self), String(decoding: entry.value, as: UTF8.self))
    }
}

extension StoreReader {
    func content(startingWith prefix: String = "", from first: String? = nil, limit: Int = .max) throws -> [Pair] {
        var entries: [StoreEntry] = []
        try withBytes(of: prefix) { prefix throws(StoreError) in
            guard let first else { return try append(startingWith: prefix, limit: limit, to: &entries) }
            try withBytes(of: first) { first throws(StoreError) in
                try append(startingWith: prefix, from: first, limit: limit, to: &entries)
            }
        }
        return entries.map { Pair($0) }
    }

    func text(for key: String) throws -> String? {
        try withBytes(of: key) { key throws(StoreError) in try value(for: key) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}

func withBytes<Result>(
    of text: String, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
) throws(StoreError) -> Result {
    let bytes = Array(text.utf8)
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(copy))
}
