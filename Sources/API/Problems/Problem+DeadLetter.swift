import Notifications

extension Problem.Fault {
    /// What the pipeline would make a dead letter: the same sentence.
    package init(_ finding: RequestFinding) {
        let problem: ProblemCode =
            switch finding.letter.code {
            case .conflictingValue: .conflictingValue
            case .unknownType: .unknownType
            case .payloadTooLarge: .payloadTooLarge
            case .valueTooLarge: .tooLarge
            case .invalidUTF8: .badEncoding
            case .invalidJSON, .invalidNumber, .tooDeep: .notJSON
            case .nullValue, .notAnEvent, .noPlace, .noAudience, .missingStatus, .missingOrderID, .badRequest,
                .tooManyOrderIDs, .tooManyAudiences, .tooManyDevices, .tooManyBytes, .recordRefused, .unreadableBatch,
                .transactionTimeout:
                .badRequest
            }
        self.init(
            pointer: finding.pointer, problem, code: finding.letter.code.label, detail: finding.letter.message)
    }
}

extension Problem {
    /// One dead letter, and where it is.
    init(_ letter: DeadLetter, at pointer: String) {
        let fault = Fault(RequestFinding(letter, at: pointer))
        self.init(fault.problem, fault.detail)
        faults = [fault]
    }
}
