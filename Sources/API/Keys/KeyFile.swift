import Foundation
import JSONReader
import WholeFile

/// The file of keys, which is taken up again when it changes. One owner.
package struct KeyFile {
    private let path: String
    private var bytes: [UInt8]?

    package init(_ path: String) {
        self.path = path
    }

    /// - Returns: nil if it is what it was at the last call.
    /// - Throws: everything that is wrong with it; the next call looks again.
    package mutating func read() throws(InvalidForm) -> KeyRing? {
        let new = try Self.contents(path)
        guard new != bytes else { return nil }
        let ring = try KeyRing(json: new)
        bytes = new
        return ring
    }

    private static func contents(_ path: String) throws(InvalidForm) -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: KeyRing.mostBytes + 1)
        else { throw InvalidForm(problems: ["it cannot be read: \(path): \(String(cString: strerror(errno)))"]) }
        guard data.count <= KeyRing.mostBytes else {
            throw InvalidForm(problems: ["it is too large; allowed are \(KeyRing.mostBytes) bytes"])
        }
        return Array(data)
    }

    /// See ``WholeFile/write(_:to:)``.
    package static func write(_ ring: KeyRing, to path: String) throws(InvalidForm) {
        do throws(WholeFile.Failure) {
            try WholeFile.write(Array(ring.json.utf8), to: path)
        } catch {
            throw InvalidForm(problems: ["it cannot be written: \(path): \(error)"])
        }
    }
}
