import Arguments

/// The options of a command that shows a plan and asks for its number.
struct ConfirmOptions: ParsableArguments {
    @Flag(help: "Show the plan and change nothing.") var dryRun: Bool
    @Flag(help: "Do not ask.") var yes: Bool
    @Option(help: "The number in the plan, in place of typing it.", valueName: "n") var confirm: Int?
    @Option(help: "Refuse a plan with a larger number.", valueName: "n") var most: Int?

    func validate() -> [String] {
        var problems: [String] = []
        if let confirm, confirm < 0 { problems.append("--confirm \(confirm) is not allowed; it must be 0 or more") }
        if let most, most < 1 { problems.append("--most \(most) is not allowed; it must be 1 or more") }
        if yes, confirm != nil { problems.append("--yes and --confirm exclude each other") }
        return problems
    }

    /// Whether the number matters: it is asked for, or limited.
    var needsCount: Bool { !yes || most != nil }

    func confirmation(
        of deed: Confirmation.Deed, mostUnasked: Int? = nil, isStopped: @escaping () -> Bool = { false }
    ) -> Confirmation {
        Confirmation(
            deed: deed, isUnasked: yes, given: confirm, most: most, mostUnasked: mostUnasked, isStopped: isStopped)
    }
}

/// The confirmations of a command that sends what is past: a flag, and the number in its plan.
struct ResendOptions: ParsableArguments {
    @Flag(help: "Needed to send: what this command sends is delivered to people's phones.")
    var iUnderstandThisNotifiesPeople: Bool
    @OptionGroup(title: "Confirmation") var plan: ConfirmOptions

    private static let defaultMost = 10_000

    func validate() -> [String] {
        var problems: [String] = []
        if !iUnderstandThisNotifiesPeople, !plan.dryRun {
            problems.append(
                "--i-understand-this-notifies-people is missing: what this command sends is delivered to people's phones "
                    + "(--dry-run shows the plan)")
        }
        if plan.yes, plan.most == nil {
            problems.append("--yes needs --most here: the largest number to send without a question")
        }
        return problems
    }

    func confirmation(of deed: Confirmation.Deed, isStopped: @escaping () -> Bool) -> Confirmation {
        var confirmation = plan.confirmation(of: deed, isStopped: isStopped)
        confirmation.most = plan.most ?? Self.defaultMost
        return confirmation
    }
}
