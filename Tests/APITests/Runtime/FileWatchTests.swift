import Foundation
import Hosting
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import API

@Suite("API: the file of keys while it runs") struct FileWatchTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/keys.json" }

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    /// A host whose time passes where its threads sleep.
    private func host(_ slept: @escaping @Sendable (Int) -> Void) -> RoleHost {
        let time = Mutex((now: ContinuousClock.now, count: 0))
        let shared = Shared(time)
        return RoleHost(
            clock: PipelineClock(
                time: TimeSource(
                    now: { shared.time.withLock { $0.now } },
                    sleep: { duration in
                        let count = shared.time.withLock { time in
                            time.now += duration
                            time.count += 1
                            return time.count
                        }
                        slept(count)
                    })))
    }

    private final class Shared: Sendable {
        let time: Mutex<(now: ContinuousClock.Instant, count: Int)>
        init(_ time: consuming sending Mutex<(now: ContinuousClock.Instant, count: Int)>) { self.time = time }
    }

    @Test("a changed file holds from the next look on; one that cannot be read for ten seconds ends the role")
    func watch() throws {
        let path = path
        let first = KeyEntry(APIKey(.live), scopes: [.send])
        let second = KeyEntry(APIKey(.live), scopes: [.operate])
        try KeyFile.write(KeyRing([first]), to: path)
        var file = KeyFile(path)
        #expect(try file.read()?.entries == [first])
        let looks = Mutex(0)
        let counted = Counted(looks)
        let host = host { count in
            counted.looks.withLock { $0 = count }
            switch count {
            case 3: try? KeyFile.write(KeyRing([second]), to: path)
            case 6: try? Data("[".utf8).write(to: URL(fileURLWithPath: path))
            case 9: try? KeyFile.write(KeyRing([first, second]), to: path)
            case 12: try? FileManager.default.removeItem(atPath: path)
            default: break
            }
        }
        var taken: [[KeyEntry]] = []
        var watch = FileWatch(file, of: "api.keys", logger: Logger(label: "test", level: .critical))
        let error = #expect(throws: PipelineError.self) {
            try watch.run(on: host) { ring in
                taken.append(ring.entries)
                return ""
            }
        }
        #expect(taken == [[second], [first, second]])
        #expect("\(error.map { "\($0)" } ?? "")".contains("api.keys cannot be used: it cannot be read: \(path)"))
        #expect(counted.looks.withLock { $0 } == 12 + 20)
    }

    private final class Counted: Sendable {
        let looks: Mutex<Int>
        init(_ looks: consuming sending Mutex<Int>) { self.looks = looks }
    }
}
