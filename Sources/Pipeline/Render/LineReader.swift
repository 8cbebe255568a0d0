import Glibc

/// Reads a file descriptor line by line in one buffer, which grows with the longest line and with nothing else.
package struct LineReader: ~Copyable {
    private let descriptor: Int32
    private let closesDescriptor: Bool
    private var buffer: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    private var isAtEnd = false

    /// - Parameter closes: whether the descriptor is this reader's own.
    package init(descriptor: Int32, closes: Bool = false) {
        self.descriptor = descriptor
        closesDescriptor = closes
        buffer = .allocate(byteCount: 256 * 1024, alignment: 8)
    }

    /// Opens a file; `-` is standard input.
    package init(path: String) throws(FileError) {
        if path == "-" {
            self.init(descriptor: STDIN_FILENO)
            return
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(path: path, code: errno) }
        self.init(descriptor: descriptor, closes: true)
    }

    deinit {
        buffer.deallocate()
        if closesDescriptor { close(descriptor) }
    }

    /// The next line without its end, valid until the next call; nil at the end of the file.
    package mutating func next() throws(FileError) -> UnsafeRawBufferPointer? {
        var searched = start
        while true {
            if let newline = buffer[searched..<end].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = newline + 1 }
                return line(start..<newline)
            }
            searched = end
            if isAtEnd {
                guard start < end else { return nil }
                defer { start = end }
                return line(start..<end)
            }
            searched -= makeRoom()
            try fill()
        }
    }

    private func line(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        var range = range
        if range.count > 0, buffer[range.upperBound - 1] == UInt8(ascii: "\r") {
            range = range.lowerBound..<range.upperBound - 1
        }
        return UnsafeRawBufferPointer(rebasing: buffer[range])
    }

    /// Moves what is left to the front; doubles the buffer where that leaves no room. Returns how far it moved.
    private mutating func makeRoom() -> Int {
        guard end == buffer.count else { return 0 }
        let moved = start
        let rest = end - start
        if moved > 0 {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
        } else {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 8)
            larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
            buffer.deallocate()
            buffer = larger
        }
        start = 0
        end = rest
        return moved
    }

    private mutating func fill() throws(FileError) {
        while true {
            let count = read(descriptor, buffer.baseAddress! + end, buffer.count - end)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(path: "input", code: errno) }
            if count == 0 { isAtEnd = true }
            end += count
            return
        }
    }
}

/// A file that cannot be read or written.
package struct FileError: Error, CustomStringConvertible {
    package var path: String
    package var code: Int32

    /// - Parameter code: the `errno` of the call that failed.
    package init(path: String, code: Int32) {
        self.path = path
        self.code = code
    }

    package var isBrokenPipe: Bool { code == EPIPE }

    package var description: String { "\(path): \(String(cString: strerror(code)))" }
}
