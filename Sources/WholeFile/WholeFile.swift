import Glibc

/// A file that is there in whole, or as it was before: also after a power cut.
package enum WholeFile {
    package struct Failure: Error, CustomStringConvertible {
        /// An `errno`.
        package let code: Int32
        package var description: String { String(cString: strerror(code)) }
    }

    /// Writes a file of mode 0600. It is durable when this returns; where it throws, what was there is left and nothing else.
    package static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let draft = path + ".new"
        // One that a dead process has left.
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure(code: errno) }
        let problem = write(bytes, to: file)
        close(file)
        guard problem == 0, rename(draft, path) == 0 else {
            let failure = Failure(code: problem == 0 ? errno : problem)
            unlink(draft)
            throw failure
        }
        syncFolder(of: path)
    }

    /// Makes it durable that a file of the folder was renamed or removed.
    package static func syncFolder(of path: String) {
        let end = path.lastIndex(of: "/")
        let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// - Returns: an `errno`; 0 if all is on the disk.
    private static func write(_ bytes: [UInt8], to file: Int32) -> Int32 {
        var count = 0
        while count < bytes.count {
            let written = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress! + count, $0.count - count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return written < 0 ? errno : EIO }
            count += written
        }
        return fsync(file) == 0 ? 0 : errno
    }
}
