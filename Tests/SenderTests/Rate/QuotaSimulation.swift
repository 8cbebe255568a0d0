import Notifications
import TestSupport

@testable import Sender

/// A day of the processes that share a credential's quota: each has the share of its partitions, which move and leave with
/// processes that die. Most of the day there is little to send; at times there is more than the quota. A clock of its own,
/// in milliseconds, which jumps from one round of a process to the next.
struct QuotaSimulation {
    static let perMinute = 600_000
    static let partitions = 24
    static let minute: Int64 = 60_000
    /// How long there is more to send than the quota, and how long partitions move meanwhile: then there is time for the
    /// last session to expire and the last rate to grow before the last minute. In every second wave, what was saved before
    /// it is sent undisturbed.
    static let (wave, disturbed) = (Int64(330_000), Int64(100_000))

    struct Process {
        var bucket = TokenBucket(perMinute: perMinute, share: 0)
        var partitions = 0
        var nextRound = WallTime.epoch
    }

    private var random: SeededGenerator
    private var now = WallTime.epoch
    private var processes: [Process] = []
    /// Partitions that nobody has, and when somebody gets them.
    private var moving: [(count: Int, at: WallTime)] = []

    /// What was sent, in the order of time.
    private var sent: [(at: WallTime, count: Int)] = []
    private var handOvers: [(at: WallTime, share: Double)] = []
    private var starts: [WallTime] = []
    /// When the provider answers 429 to 5 % of what is sent, or to more.
    private var throttling: Range<WallTime> = 0..<0

    /// The most that was sent in any 60 seconds, beyond what ``bound`` allows; 0 or less.
    private(set) var excess = -perMinute
    /// The most in any 60 seconds.
    private(set) var most = 0
    /// The least part of the quota that was sent in the last minute of a wave.
    private(set) var leastRate = 1.0
    /// The largest part of it that was sent in the last second of a time in which 5 % of the answers were 429.
    private(set) var mostThrottled = 0.0
    private(set) var moves = 0
    private(set) var crashes = 0

    init(seed: UInt64, processes count: Int) {
        random = SeededGenerator(seed: seed)
        for _ in 0..<count { start() }
        moving = [(Self.partitions, 0)]
    }

    /// The bound of any 60 seconds: the quota; what a process may have saved, which is 50 ms of its rate; as much again for
    /// each share that another process got in that time, since it may have been idle; and the one message with which every
    /// process begins, and begins again after a pause.
    private func bound(handedOver share: Double, starts: Int) -> Int {
        Self.perMinute + Int(Double(Self.perMinute) / 1_200 * (1 + share)) + processes.count + starts
    }

    // MARK: The day

    /// - Parameter waves: how often there is more to send than the quota.
    mutating func run(waves: Int) {
        let day: Int64 = 86_400_000
        for wave in 1...Int64(waves) {
            quiet(until: .epoch + wave * day / Int64(waves) - Self.wave)
            self.wave(calm: wave % 2 * Self.minute)
            check()
        }
    }

    /// A message now and then.
    private mutating func quiet(until end: WallTime) {
        while now < end {
            now += Int64(Int.random(in: 1...60_000, using: &random))
            disturb(chance: 10)
            give()
            let index = Int.random(in: processes.indices, using: &random)
            if processes[index].partitions > 0, processes[index].bucket.take(now: now) { sent.append((now, 1)) }
        }
    }

    /// - Parameter calm: how long nothing moves at first.
    private mutating func wave(calm: Int64) {
        let (start, end) = (now + calm, now + Self.wave)
        let throttled = start + Int64(Int.random(in: 0...60_000, using: &random))
        throttling = throttled..<throttled + Int64(Int.random(in: 10_000...30_000, using: &random))
        for index in processes.indices { processes[index].nextRound = now }
        while now < end {
            // A process that was started in between begins at once.
            guard let index = processes.indices.min(by: { processes[$0].nextRound < processes[$1].nextRound }) else {
                return
            }
            now = max(now, processes[index].nextRound)
            if (start..<start + Self.disturbed).contains(now) { disturb(chance: 0.05) }
            give()
            sendAll(index)
        }
        leastRate = min(leastRate, Double(sum(of: Self.minute, before: end)) / Double(Self.perMinute))
        let last = Double(sum(of: 1_000, before: throttling.upperBound)) * 60
        mostThrottled = max(mostThrottled, last / Double(Self.perMinute))
    }

    private func sum(of duration: Int64, before end: WallTime) -> Int {
        sent.reduce(0) { $0 + ((end - duration..<end).contains($1.at) ? $1.count : 0) }
    }

    /// All that the bucket gives; then the next round, which a commit may delay.
    private mutating func sendAll(_ index: Int) {
        var count = 0
        while processes[index].partitions > 0, processes[index].bucket.take(now: now) { count += 1 }
        if count > 0 { sent.append((now, count)) }
        for answer in 0..<min(count, 20) {
            processes[index].bucket.answered(
                answer == 0 && throttling.contains(now) ? .throttled : .answered, now: now)
        }
        processes[index].nextRound = now + Int64(Int.random(in: 1...45, using: &random))
    }

    // MARK: Partitions

    private mutating func start() {
        starts.append(now)
        processes.append(Process(nextRound: now))
    }

    private mutating func disturb(chance percent: Double) {
        guard Double.random(in: 0..<100, using: &random) < percent else { return }
        let index = Int.random(in: processes.indices, using: &random)
        if Int.random(in: 0..<8, using: &random) == 0 {
            // A pause has ended.
            processes[index].bucket.restart(now: now)
            starts.append(now)
        } else if Int.random(in: 0..<4, using: &random) == 0 {
            crashes += 1
            // Its session has to expire, or it has left the group.
            let delay = Int64(Bool.random(using: &random) ? 0 : 45_000)
            moving.append((processes[index].partitions, now + delay))
            processes.remove(at: index)
            start()
        } else {
            let count = Int.random(in: 0...processes[index].partitions, using: &random)
            processes[index].partitions -= count
            share(index)
            moving.append((count, now + Int64([0, 1, 200, 15_000].randomElement(using: &random) ?? 0)))
        }
    }

    private mutating func give() {
        for group in moving where group.at <= now && group.count > 0 {
            // All to one, or spread.
            let count = Bool.random(using: &random) ? group.count : 1
            var left = group.count
            while left > 0 {
                let index = Int.random(in: processes.indices, using: &random)
                processes[index].partitions += min(count, left)
                left -= min(count, left)
                share(index)
            }
            moves += 1
            handOvers.append((now, Double(group.count) / Double(Self.partitions)))
        }
        moving.removeAll { $0.at <= now }
    }

    private mutating func share(_ index: Int) {
        processes[index].bucket.setShare(Double(processes[index].partitions) / Double(Self.partitions))
    }

    // MARK: What must hold

    /// Looks at the 60 seconds before each round in which something was sent.
    private mutating func check() {
        var (first, firstHandOver, firstStart) = (0, 0, 0)
        var (lastHandOver, lastStart) = (0, 0)
        var (count, share) = (0, 0.0)
        for (at, now) in sent {
            count += now
            while lastHandOver < handOvers.count, handOvers[lastHandOver].at <= at {
                share += handOvers[lastHandOver].share
                lastHandOver += 1
            }
            while lastStart < starts.count, starts[lastStart] <= at { lastStart += 1 }
            while sent[first].at <= at - Self.minute {
                count -= sent[first].count
                first += 1
            }
            while firstHandOver < lastHandOver, handOvers[firstHandOver].at <= at - Self.minute {
                share -= handOvers[firstHandOver].share
                firstHandOver += 1
            }
            while firstStart < lastStart, starts[firstStart] <= at - Self.minute { firstStart += 1 }
            most = max(most, count)
            excess = max(excess, count - bound(handedOver: share, starts: lastStart - firstStart))
        }
        sent.removeAll { $0.at <= now - Self.minute }
        handOvers.removeAll { $0.at <= now - Self.minute }
        starts.removeAll { $0 <= now - Self.minute }
    }
}
