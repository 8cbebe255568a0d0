import Foundation

/// A temporary folder of this process, into which only its user may look (mode 0700).
struct PrivateFolder {
    let path: String

    init(_ name: String) throws {
        let pattern = FileManager.default.temporaryDirectory.appendingPathComponent("\(name)-XXXXXX").path
        var template = Array(pattern.utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandFailure(.configuration, "\(pattern) cannot be made: \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}
