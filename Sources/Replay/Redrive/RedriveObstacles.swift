extension ReplayInput {
    /// Checks that the replay is exact: it must be known what was to be sent for the selected range, and what was sent.
    ///
    /// - Throws: ``ReplayRefusal`` if it is not.
    func checkRedrive(to topic: String, includingSent: Bool) throws(ReplayRefusal) {
        if lacksJournal {
            throw ReplayRefusal(
                approximations.joined(separator: "; ") + ": what was sent then is not known; choose a later --from")
        }
        if isIncomplete {
            throw ReplayRefusal(
                approximations.joined(separator: "; ")
                    + ": it may give pushes that the pipeline would not have sent; choose a later --from")
        }
        try checkIsAlone(in: topic)
        guard !includingSent else { return }
        for (other, steps) in stepsByDispatch.sorted(by: { $0.key < $1.key }) where other != topic {
            throw ReplayRefusal(
                "\(steps) transactions of the range wrote to \(other), and topic.dispatch is \(topic): what they sent does not "
                    + "stand there; choose a later --from, or --include-sent")
        }
    }
}
