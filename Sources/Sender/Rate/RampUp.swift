/// How many requests may be in flight since a pause has ended: one, and one more for each that was answered, so that a
/// provider that has just recovered does not get everything at once.
package struct RampUp: Sendable {
    package private(set) var most = 1

    /// An answer, or its absence.
    package mutating func answered(_ kind: AnswerKind) {
        switch kind {
        case .answered: most += 1
        case .throttled, .failed: break
        }
    }
}
