import Foundation

/// The lines of a file or of standard input, read in pieces: memory does not grow with the file.
struct LineReader {
    /// The number of the line that came last, from 1.
    private(set) var number = 0
    private let handle: FileHandle
    private let size: Int?
    private var buffer: [UInt8] = []
    private var position = 0
    private var consumed = 0
    private var isAtEnd = false

    /// - Parameter path: `-` is standard input.
    init(path: String) throws(CommandFailure) {
        if path == "-" {
            handle = .standardInput
            size = nil
            return
        }
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw CommandFailure(.usage, "\(path): the file cannot be read")
        }
        self.handle = handle
        size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? nil
    }

    /// How much of the file was read; nil where its size is not known.
    var fraction: Double? {
        size.flatMap { $0 > 0 ? min(1, Double(consumed) / Double($0)) : nil }
    }

    /// The next line without its end; nil after the last.
    mutating func next() throws(CommandFailure) -> [UInt8]? {
        while true {
            if let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
                return take(upTo: end, skipping: 1)
            }
            if isAtEnd { return position < buffer.count ? take(upTo: buffer.count, skipping: 0) : nil }
            buffer.removeFirst(position)
            position = 0
            do {
                let piece = try handle.read(upToCount: 1 << 18) ?? Data()
                isAtEnd = piece.isEmpty
                buffer += piece
            } catch {
                throw CommandFailure(.configuration, "reading failed: \(error.localizedDescription)")
            }
        }
    }

    private mutating func take(upTo end: Int, skipping ends: Int) -> [UInt8] {
        var line = buffer[position..<end]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        consumed += end + ends - position
        position = end + ends
        number += 1
        return Array(line)
    }
}
