import Glibc
import WholeFile

/// The file that marks a store as in use, so that the next start knows whether it was closed (docs/code.md §7).
///
/// Its text is `<unclean starts> <boot id>`. A process that is killed damages no store; only a machine that goes down may
/// (ADR 46).
struct UseMarker {
    /// What a start finds.
    enum State: Equatable {
        case closed
        /// The store was not closed, but only its process has ended since.
        ///
        /// - Parameter starts: how many starts in a row have found that, this one included.
        case unclosed(starts: Int)
        /// The store must be filled again, for this reason.
        case untrusted(reason: String)
    }

    /// The last of so many unclean starts in a row fills the store again. Damage may have ended the ones before it.
    static let mostUnclean = 3
    static let fileName = "in-use"

    let folder: String
    /// The running system's boot id; nil if it has none.
    let boot: String?

    private var path: String { folder + "/" + Self.fileName }

    /// - Parameter mostUnclean: the last of so many unclean starts in a row fills the store again.
    func read(mostUnclean: Int = Self.mostUnclean) -> State {
        guard let text = smallFile(path) else { return .closed }
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let starts = Int(words[0]), starts >= 0 else {
            return .untrusted(reason: "it is damaged, or another version wrote it")
        }
        guard let boot, boot == words[1] else {
            return .untrusted(reason: "it was not closed, and the machine has been restarted since, or is another one")
        }
        guard starts < mostUnclean - 1 else {
            return .untrusted(reason: "it was not closed \(mostUnclean) times in a row")
        }
        return .unclosed(starts: starts + 1)
    }

    /// Durable when this returns, so that a power cut does not leave a store that looks closed.
    ///
    /// - Parameter starts: how many starts in a row have found the store unclosed.
    func write(starts: Int) throws(StoreError) {
        do throws(WholeFile.Failure) {
            try WholeFile.write(Array("\(starts) \(boot ?? "-")".utf8), to: path)
        } catch {
            throw StoreError(code: error.code, doing: "write the marker", in: folder)
        }
    }

    /// Makes the next start fill the store again. Empties the file in place, which needs no room on the disk.
    func distrust() {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        Glibc.close(descriptor)
    }

    func remove() {
        unlink(path)
        WholeFile.syncFolder(of: path)
    }

    /// The start of the system that this is: another text after each restart of the machine; nil if it has none.
    static func currentBoot() -> String? {
        smallFile("/proc/sys/kernel/random/boot_id")?.split(separator: "\n").first.map { String($0) }
    }
}

/// The beginning of a file; nil if there is no file, empty if it cannot be read.
private func smallFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return errno == ENOENT ? nil : "" }
    defer { close(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
        String(decoding: buffer.prefix(max(read(descriptor, buffer.baseAddress, buffer.count), 0)), as: UTF8.self)
    }
}
