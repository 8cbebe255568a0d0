import JSONReader
import WholeFile

/// The file of keys.
package typealias KeyFile = WatchedFile<KeyRing>

extension KeyFile {
    package init(_ path: String) {
        self.init(path) { json, _ throws(InvalidForm) in try KeyRing(json: json) }
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
