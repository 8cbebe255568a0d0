import Glibc

/// Changes on disk, in runs that are sorted by key, for the order of all keys to be made of more than fits into memory.
///
/// One file without a name in the file system: nobody else can open it, and its disk space is freed with this value or
/// when the process ends, even by a crash. Memory: 1 MiB while a run is written, 64 KiB per run while they are merged.
package struct SortedRuns: ~Copyable {
    /// Where in the file each run ends.
    private(set) var ends: [Int] = []
    private let folder: String
    private let file: RunFile

    /// - Parameter folder: an existing folder, whose file system holds the file.
    package init(in folder: String) throws(StoreError) {
        self.folder = folder
        file = try RunFile(in: folder)
    }

    package var isEmpty: Bool { ends.isEmpty }
    /// The size of the file.
    package var byteCount: Int { ends.last ?? 0 }

    /// Adds a run: `body` writes its changes in the order of their keys, each key once. Of a key in several runs the
    /// last one counts. After an error the run is not there, and the call may be repeated.
    package mutating func add(
        _ body: (inout RunWriter) throws(StoreError) -> Void
    ) throws(StoreError) {
        var writer = RunWriter(file, at: byteCount)
        try body(&writer)
        try writer.flush()
        ends.append(writer.end)
    }

    /// All changes in the order of their keys.
    package borrowing func merged() throws(StoreError) -> RunMerge {
        var runs: [RunReader] = []
        for (index, end) in ends.enumerated() {
            runs.append(RunReader(file, from: index == 0 ? 0 : ends[index - 1], to: end))
        }
        return try RunMerge(of: runs)
    }
}

/// The file of the runs, which ends with its last user.
final class RunFile {
    private let descriptor: Int32
    private let folder: String

    init(in folder: String) throws(StoreError) {
        var template = Array("\(folder)/sorting-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        self.folder = folder
        guard descriptor >= 0 else { throw StoreError(code: errno, doing: "make a file to sort in", in: folder) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
    }

    deinit {
        close(descriptor)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int) throws(StoreError) {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(byteOffset + done))
            guard count > 0 else {
                if count < 0, errno == EINTR { continue }
                throw StoreError(code: count < 0 ? errno : EIO, doing: "write a file to sort in", in: folder)
            }
            done += count
        }
    }

    /// Reads all of these bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int) throws(StoreError) {
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(byteOffset + done))
            guard count > 0 else {
                if count < 0, errno == EINTR { continue }
                throw StoreError(code: count < 0 ? errno : EIO, doing: "read a file to sort in", in: folder)
            }
            done += count
        }
    }
}

/// Writes one run. A change: 2 bytes with the length of its key, 4 with that of its value or −1 where it removes the key,
/// key, value.
package struct RunWriter: ~Copyable {
    static let headCount = 6
    private static let bufferCount = 1 << 20

    private let file: RunFile
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferCount, alignment: 16)
    private var used = 0
    private var byteOffset: Int

    init(_ file: RunFile, at byteOffset: Int) {
        self.file = file
        self.byteOffset = byteOffset
    }

    deinit {
        buffer.deallocate()
    }

    var end: Int { byteOffset + used }

    /// - Parameter value: nil removes the key.
    package mutating func add(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?
    ) throws(StoreError) {
        try makeRoom(Self.headCount + key.count)
        buffer.storeBytes(of: UInt16(truncatingIfNeeded: key.count), toByteOffset: used, as: UInt16.self)
        buffer.storeBytes(
            of: value.map { Int32(truncatingIfNeeded: $0.count) } ?? -1, toByteOffset: used + 2, as: Int32.self)
        used += Self.headCount
        append(key)
        guard let value else { return }
        guard value.count <= Self.bufferCount else {
            try flush()
            try file.write(value, at: byteOffset)
            byteOffset += value.count
            return
        }
        try makeRoom(value.count)
        append(value)
    }

    private mutating func makeRoom(_ count: Int) throws(StoreError) {
        if Self.bufferCount - used < count { try flush() }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, let target = buffer.baseAddress else { return }
        (target + used).copyMemory(from: source, byteCount: bytes.count)
        used += bytes.count
    }

    mutating func flush() throws(StoreError) {
        try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<used]), at: byteOffset)
        byteOffset += used
        used = 0
    }
}
