import Notifications

extension Problem {
    /// What the pipeline would make a dead letter: the same sentence, and where it is.
    init(_ letter: DeadLetter) {
        let code: ProblemCode =
            switch letter.code {
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
        self.init(code, letter.message)
        faults = [Fault(pointer: Self.pointer(letter.message), code: letter.code.label, detail: letter.message)]
    }

    /// The member that a sentence begins with, such as `app.title is missing` and `audience[3] is "x"`; else the whole body.
    private static func pointer(_ sentence: String) -> String {
        if let match = sentence.prefixMatch(of: #/"(.*)" is not a member of (?:the request|(app|message));/#) {
            return (match.2.map { "/\($0)" } ?? "") + escape(String(match.1))
        }
        guard let match = sentence.prefixMatch(of: #/([A-Za-z_]+(?:\.[A-Za-z_]+)*)(?:\[([0-9]+)\])? (?:is|has) /#),
            match.1 != "the", match.1 != "message" || sentence.hasPrefix("message is a"), match.1 != "it"
        else { return "" }
        let index = match.2.map { "/\($0)" } ?? ""
        return match.1.split(separator: ".").map { escape(String($0)) }.joined() + index
    }
}
