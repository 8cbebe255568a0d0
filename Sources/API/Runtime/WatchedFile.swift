import Digests
import Foundation
import JSONReader

/// A JSON file that is taken up again when it changes, or when a file changes that it names. One owner.
package struct WatchedFile<Content> {
    /// Reads a file that the JSON names, by its path.
    package typealias Reader = (String) throws(InvalidForm) -> [UInt8]

    /// Of each file.
    package static var mostBytes: Int { 4 << 20 }

    private let path: String
    private let content: @Sendable ([UInt8], Reader) throws(InvalidForm) -> Content
    /// What the last content was made of, by path.
    private var seen: [String: StoredHash] = [:]

    package init(
        _ path: String, content: @escaping @Sendable ([UInt8], Reader) throws(InvalidForm) -> Content
    ) {
        (self.path, self.content) = (path, content)
    }

    /// - Returns: nil if all is what it was at the last call.
    /// - Throws: everything that is wrong with it; the next call looks again.
    package mutating func read() throws(InvalidForm) -> Content? {
        var files: [String: StoredHash] = [:]
        func bytes(_ path: String) throws(InvalidForm) -> [UInt8] {
            let bytes = try Self.bytes(path)
            files[path] = bytes.withUnsafeBytes { StoredHash(of: $0) }
            return bytes
        }
        for path in seen.keys { _ = try? bytes(path) }
        guard seen.isEmpty || files != seen else { return nil }
        files = [:]
        let new = try content(try bytes(path), bytes)
        seen = files
        return new
    }

    private static func bytes(_ path: String) throws(InvalidForm) -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: mostBytes + 1) else {
            throw InvalidForm(problems: ["it cannot be read: \(path): \(String(cString: strerror(errno)))"])
        }
        guard data.count <= mostBytes else {
            throw InvalidForm(problems: ["it is too large; allowed are \(mostBytes) bytes"])
        }
        return Array(data)
    }
}
