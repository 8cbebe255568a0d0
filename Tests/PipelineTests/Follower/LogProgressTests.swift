import KafkaClient
import Testing

@testable import Pipeline

@Suite("How far a topic was read")
struct LogProgressTests {
    private let start = ContinuousClock.now
    private let first = TopicPartition(topic: "topic", partition: 0)
    private let second = TopicPartition(topic: "topic", partition: 1)

    @Test("it is as fresh as the question for the ends that it has reached, not as the answer or the newest question")
    func freshness() {
        var progress = LogProgress()
        var isSame = progress.ends([first: 2, second: 1], askedAt: start)
        #expect(isSame)
        progress.reach(first, 1)
        progress.reach(second, 1)
        progress.look()
        #expect(progress.freshSince == nil)
        // The log grows while it is read: the first ends count as soon as they are reached.
        isSame = progress.ends([first: 5, second: 1], askedAt: start + .seconds(3))
        #expect(isSame)
        progress.reach(first, 2)
        progress.look()
        #expect(progress.freshSince == start)
        isSame = progress.ends([first: 3, second: 1], askedAt: start + .seconds(4))
        #expect(isSame)
        progress.reach(first, 3)
        progress.look()
        #expect(progress.freshSince == start + .seconds(4))
        isSame = progress.ends([first: 3, second: 1], askedAt: start + .seconds(5))
        #expect(isSame)
        #expect(progress.freshSince == start + .seconds(5))
    }

    @Test("an empty partition is read once the broker has answered for it: who may not read does not know its end")
    func empty() {
        var progress = LogProgress()
        let isSame = progress.ends([first: 0], askedAt: start)
        #expect(isSame)
        #expect(progress.freshSince == nil)
        progress.reach(first, 0)
        progress.look()
        #expect(progress.freshSince == start)
    }

    @Test("a log that ends before what was read, or before an end that it has had, is another one")
    func another() {
        var progress = LogProgress()
        progress.reach(first, 5)
        var isSame = progress.ends([first: 4], askedAt: start)
        #expect(!isSame)
        isSame = progress.ends([first: 9], askedAt: start)
        #expect(isSame)
        isSame = progress.ends([first: 8], askedAt: start)
        #expect(!isSame)
    }
}
