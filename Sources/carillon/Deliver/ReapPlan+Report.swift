import Sender

extension ReapPlan: Report {
    /// The share of a credential's answers about devices that said they are dead.
    private struct Share: Encodable {
        var credential: String
        var answers: Int
        var dead: Int
        /// Nothing is told of it until a person confirms the number.
        var held: Bool
        /// Devices of which nothing is told before something is accepted with it.
        var waiting: Int
    }

    private enum CodingKeys: CodingKey { case devices, rows, credentials, hasMore }

    package func encode(to encoder: any Encoder) throws {
        let (held, waiting) = (held, waiting)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(devices(.everything), forKey: .devices)
        try members.encode(groups, forKey: .rows)
        let shares = answers.sorted { $0.key < $1.key }.map {
            Share(
                credential: $0.key, answers: $0.value.all, dead: $0.value.dead, held: held.contains($0.key),
                waiting: waiting[$0.key] ?? 0)
        }
        try members.encode(shares, forKey: .credentials)
        try members.encode(hasMore, forKey: .hasMore)
    }

    var rows: [Row] {
        var rows: [Row] = []
        let groups = groups
        if !groups.isEmpty {
            var table = TextTable(["PLATFORM", "APP", "CREDENTIAL", "DEVICES", "OF ITS ANSWERS"])
            for group in groups {
                table.append([
                    group.platform.rawValue, group.app.isEmpty ? "-" : group.app, group.credential,
                    ProgressLine.grouped(group.devices), share(of: group.credential),
                ])
            }
            rows.append(.table(table))
        }
        rows.append(.line(ProgressLine.counted(devices(.everything), "dead device")))
        let held = held
        rows += held.sorted().map { credential in
            let row = answers[credential]?.hasBurst == true ? ", many in a row" : ""
            return .line("\(credential) waits for a person: \(share(of: credential)) were about dead devices\(row)")
        }
        rows += waiting.filter { !held.contains($0.key) }.sorted { $0.key < $1.key }.map { credential, devices in
            .line("\(ProgressLine.counted(devices, "device")) wait until something is accepted with \(credential)")
        }
        if hasMore { rows.append(.line("there is more evidence than one run takes: run it again")) }
        return rows
    }

    /// `1.2 % of 4,000`
    private func share(of credential: String) -> String {
        let answers = answers[credential] ?? DeadEvidence.Answers()
        let permille = answers.all > 0 ? (answers.dead * 1_000 + answers.all / 2) / answers.all : 0
        return "\(permille / 10).\(permille % 10) % of \(ProgressLine.grouped(answers.all))"
    }
}

extension ReapReport: Report {
    var rows: [Row] {
        [
            .line(
                "The registrar was told of \(ProgressLine.counted(devices, "device")); it unsubscribes those that have not "
                    + "registered since.")
        ]
    }
}
