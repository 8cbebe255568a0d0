import Registrar
import Synchronization
import Testing

@testable import API

@Suite("API: who waits for the verdict of a command") struct VerdictBoardTests {
    /// What was answered.
    private final class Answers: Sendable {
        private let all = Mutex<[String]>([])
        func take(_ answer: VerdictBoard.Answer) { all.withLock { $0.append("\(answer)") } }
        var texts: [String] { all.withLock { $0 } }
    }

    private let board = VerdictBoard()
    private let answers = Answers()
    private let now = ContinuousClock.now

    private func wait(for command: Int64, isVisible: @escaping @Sendable (Verdict) -> Bool = { _ in true }) {
        board.wait(for: command, until: now + .seconds(10), isVisible: isVisible, answers.take)
    }

    @Test("it is answered once, by its own verdict, whether that comes before it waits or afterwards")
    func both() {
        board.decided(7, .gone)
        wait(for: 7)
        board.look()
        #expect(answers.texts == ["decided(Registrar.Verdict.gone)"])
        wait(for: 8)
        board.decided(9, .gone)
        board.look()
        #expect(answers.texts.count == 1)
        board.decided(8, .created(revision: 8))
        board.look()
        board.look()
        board.expire(now: now + .seconds(60))
        #expect(answers.texts.count == 2 && answers.texts[1].contains("created(revision: 8)"))
    }

    @Test("without a verdict in time it is recorded and not decided yet")
    func late() {
        wait(for: 7)
        board.expire(now: now + .milliseconds(9_999))
        #expect(answers.texts == [])
        board.expire(now: now + .seconds(10))
        #expect(answers.texts == ["notYet"])
        board.decided(7, .gone)
        board.look()
        #expect(answers.texts == ["notYet"])
    }

    @Test("what is decided is told once it can be seen, and is not decided yet where that takes too long")
    func visible() {
        let isThere = Mutex(false)
        wait(for: 7) { _ in isThere.withLock { $0 } }
        wait(for: 8) { _ in false }
        board.decided(7, .changed(revision: 7))
        board.decided(8, .changed(revision: 8))
        board.look()
        #expect(answers.texts == [])
        isThere.withLock { $0 = true }
        board.look()
        #expect(answers.texts.count == 1 && answers.texts[0].contains("7"))
        board.expire(now: now + .seconds(10))
        #expect(answers.texts.count == 2 && answers.texts[1] == "notYet")
    }

    @Test("who waits for something to be known is told once: that it is, or that the time is over")
    func known() {
        let isThere = Mutex(false)
        let told = Mutex<[Bool]>([])
        for _ in 0..<2 {
            board.wait(until: now + .seconds(10)) {
                isThere.withLock { $0 }
            } _: { isKnown in
                told.withLock { $0.append(isKnown) }
            }
            board.look()
            board.expire(now: now + .seconds(9))
            #expect(told.withLock { $0 } == [])
            isThere.withLock { $0 = true }
            board.look()
            board.look()
            #expect(told.withLock { $0 } == [true])
            isThere.withLock { $0 = false }
            told.withLock { $0 = [] }
        }
        board.wait(until: now + .seconds(10)) {
            false
        } _: { isKnown in
            told.withLock { $0.append(isKnown) }
        }
        board.expire(now: now + .seconds(10))
        board.expire(now: now + .seconds(11))
        #expect(told.withLock { $0 } == [false])
    }

    @Test("of verdicts that nobody waits for the newest are kept, and none where the log may be another one")
    func bounded() {
        for command in 0..<40_002 { board.decided(Int64(command), .gone) }
        wait(for: 0)
        wait(for: 40_001)
        board.look()
        #expect(answers.texts.count == 1)
        board.forget()
        wait(for: 40_000)
        board.look()
        #expect(answers.texts.count == 1)
    }
}
