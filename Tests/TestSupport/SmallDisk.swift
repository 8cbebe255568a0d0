import Foundation

/// A small file system of its own; nil if this process may not mount one.
package final class SmallDisk: Sendable {
    package static let isPossible = SmallDisk() != nil

    package let path = NSTemporaryDirectory() + "/carillon-disk-" + UUID().uuidString

    package init?() {
        guard geteuid() == 0, mkdir(path, 0o700) == 0 else { return nil }
        guard mount("carillon-test", path, "tmpfs", 0, "size=4m") == 0 else {
            rmdir(path)
            return nil
        }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    /// Fills the disk except for some pages; deleting the file frees the room.
    package func fill(leaving pages: Int) throws -> String {
        let file = path + "/filler"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        var size: off_t = 0
        let page = [UInt8](repeating: 1, count: 4_096)
        while write(descriptor, page, page.count) == page.count { size += off_t(page.count) }
        ftruncate(descriptor, size - off_t(pages * page.count))
        return file
    }
}
