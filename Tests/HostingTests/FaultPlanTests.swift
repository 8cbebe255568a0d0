#if DEBUG
    import Testing

    @testable import Hosting

    @Suite("Faults that a test asks a debug build for")
    struct FaultPlanTests {
        private func fired(_ text: String, seed: UInt64, at point: FaultPoint, worker: Int = 0, visits: Int) throws
            -> [Int]
        {
            let plan = try FaultPlan(parsing: text, seed: seed)
            return (1...visits).filter { _ in plan.draw(point, worker: worker) != nil }
        }

        @Test("rules are actions at points with a chance")
        func parsing() throws {
            let plan = try FaultPlan(parsing: "kill@after-commit:1/40,abort@before-commit:1/3", seed: 0)
            #expect(
                plan.rules == [
                    .init(action: .kill, point: .afterCommit, times: 1, visits: 40),
                    .init(action: .abort, point: .beforeCommit, times: 1, visits: 3),
                ])
        }

        @Test(
            "a rule that is not understood is refused, and so is an abort where no transaction is open",
            arguments: [
                "kill", "kill@after-commit", "kill@after-commit:1", "kill@after-commit:2/1", "kill@after-commit:1/0",
                "burn@after-commit:1/2", "kill@nowhere:1/2", "kill@after-commit:1/2:3", "kill@after-commit:1/2,stop",
                "abort@after-commit:1/2", "abort@in-revoke:1/2", "abort@in-catch-up:1/2",
            ])
        func refusal(text: String) {
            #expect(throws: PipelineError.self) { try FaultPlan(parsing: text, seed: 0) }
        }

        @Test("the same seed fires at the same visits, another one and another worker at others")
        func seeds() throws {
            let text = "abort@after-produce:1/3"
            let first = try fired(text, seed: 7, at: .afterProduce, visits: 200)
            #expect(try fired(text, seed: 7, at: .afterProduce, visits: 200) == first)
            #expect(try fired(text, seed: 8, at: .afterProduce, visits: 200) != first)
            #expect(try fired(text, seed: 7, at: .afterProduce, worker: 1, visits: 200) != first)
        }

        @Test(
            "a rule fires as often as it says, and at its own point only",
            arguments: [1, 20_261_121, 4_711] as [UInt64])
        func frequency(seed: UInt64) throws {
            let count = try fired("abort@after-produce:1/3", seed: seed, at: .afterProduce, visits: 3_000).count
            #expect((900...1_100).contains(count))
            #expect(try fired("abort@after-produce:1/1", seed: seed, at: .beforeCommit, visits: 100).isEmpty)
            #expect(try fired("kill@in-revoke:1/1", seed: seed, at: .inRevoke, visits: 100).count == 100)
        }

        @Test("a process is stopped once, and then left alone")
        func once() throws {
            #expect(try fired("stop@after-commit:1/1", seed: 1, at: .afterCommit, visits: 100) == [1])
        }
    }
#endif
