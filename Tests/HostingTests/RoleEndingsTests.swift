import Testing

@testable import Hosting

@Suite("What the end of a role means for the others")
struct RoleEndingsTests {
    private static let mendable: [PipelineError] = [.notAuthorized("an ACL"), .decisionNeeded("a setting")]
    private static let always: [any Error] = [
        PipelineError.instanceInUse("slot"), PipelineError.defect("a hang"),
        PipelineError.unplaceableRecord("a record"), PipelineError.notDrained("late"), CancellationError(),
    ]

    private func endings(_ roles: RoleName...) -> RoleEndings { RoleEndings(roles.isEmpty ? RoleName.allCases : roles) }

    @Test("one that only a person can mend stops alone, and says what it needs", arguments: mendable)
    func stopsAlone(error: PipelineError) {
        for role in [RoleName.broadcasts, .deliver, .api] {
            var endings = endings()
            #expect(endings.ended(role, error, hasWorked: true) == .stopsAlone)
            #expect(endings.stopped == [role: error.description] && !endings.isEnding)
        }
    }

    @Test("the pipeline is what the process is for: it ends it with the same errors", arguments: mendable)
    func pipeline(error: PipelineError) {
        var endings = endings()
        #expect(endings.ended(.pipeline, error, hasWorked: true) == .endsProcess)
        #expect(endings.stopped.isEmpty && endings.isEnding)
    }

    @Test("before anything has worked it ends the process: a first start is seen to fail", arguments: mendable)
    func atTheStart(error: PipelineError) {
        var endings = endings()
        #expect(endings.ended(.deliver, error, hasWorked: false) == .endsProcess)
    }

    @Test("where no other role can work, it ends the process with the first failure of the two", arguments: mendable)
    func lastOne(error: PipelineError) {
        var endings = endings(.broadcasts, .deliver)
        #expect(endings.ended(.deliver, error, hasWorked: true) == .stopsAlone)
        #expect(endings.ended(.broadcasts, error, hasWorked: true) == .endsProcess)
        #expect(endings.failure as? PipelineError == error)
        var alone = self.endings(.deliver)
        #expect(alone.ended(.deliver, error, hasWorked: true) == .endsProcess)
    }

    @Test("a defect, a lost slot and whatever is not known end it always")
    func endsAlways() {
        for error in Self.always {
            for role in RoleName.allCases {
                var endings = endings()
                #expect(endings.ended(role, error, hasWorked: true) == .endsProcess, "\(role): \(error)")
            }
        }
    }

    @Test("a role that has finished ends nothing, and neither does a failure while all drain")
    func finished() {
        var endings = endings()
        #expect(endings.ended(.deliver, nil, hasWorked: true) == .none)
        #expect(endings.failure == nil && !endings.isEnding)
        endings.drains()
        #expect(endings.ended(.broadcasts, PipelineError.notDrained("late"), hasWorked: true) == .none)
        #expect(endings.stopped.isEmpty)
        #expect(endings.failure as? PipelineError == .notDrained("late"))
    }

    @Test("the failure that says most is told: a lost slot, a defect, a decision, a permission, a drain, in this order")
    func order() throws {
        let failures: [PipelineError] = [
            .instanceInUse("slot"), .defect("a hang"), .decisionNeeded("a setting"), .notAuthorized("an ACL"),
            .notDrained("late"),
        ]
        for (first, second) in zip(failures, failures.dropFirst()) {
            for order in [[first, second], [second, first]] {
                var endings = endings()
                endings.drains()
                for (role, error) in zip(RoleName.allCases, order) { _ = endings.ended(role, error, hasWorked: true) }
                #expect(endings.failure as? PipelineError == first)
            }
        }
    }

    @Test("one that has stopped alone still decides how the process ended, where the others have drained")
    func stoppedAndDrained() {
        var endings = endings()
        _ = endings.ended(.deliver, PipelineError.notAuthorized("an ACL"), hasWorked: true)
        endings.drains()
        _ = endings.ended(.pipeline, nil, hasWorked: true)
        for role in [RoleName.broadcasts, .registrar, .api] { _ = endings.ended(role, nil, hasWorked: true) }
        #expect(endings.failure as? PipelineError == .notAuthorized("an ACL"))
        #expect(endings.running.isEmpty)
    }
}
