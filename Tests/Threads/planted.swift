// Checks that the sanitizer detects races: Scripts/threads runs it before the tests.
//   planted race    four threads write one variable: must be reported
//   planted mutex   the same under a contended Mutex: must not be reported
import Foundation
import Synchronization

final class Shared: @unchecked Sendable {
    private var bare = 0
    private let guarded = Mutex(0)

    func fight(_ kind: String) {
        for _ in 0..<20_000 {
            if kind == "mutex" { guarded.withLock { $0 += 1 } } else { bare += 1 }
        }
    }
}

@main
struct Planted {
    static func main() {
        let shared = Shared()
        let kind = CommandLine.arguments.dropFirst().first ?? ""
        let ended = DispatchSemaphore(value: 0)
        for _ in 0..<4 {
            Thread.detachNewThread {
                shared.fight(kind)
                ended.signal()
            }
        }
        for _ in 0..<4 { ended.wait() }
    }
}
