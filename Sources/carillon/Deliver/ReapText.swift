import Delivery

/// The plan of the reaper for a person, and as JSON.
struct ReapText {
    var plan: ReapPlan

    struct Document: Encodable {
        struct Row: Encodable {
            var platform: String
            var app: String
            var credential: String
            var devices: Int
            var subscriptions: Int
        }

        /// How many of a credential's answers were about dead devices.
        struct Share: Encodable {
            var credential: String
            var answers: Int
            var dead: Int
            /// Nothing of it is deleted until a person confirms the number.
            var held: Bool
        }

        var devices: Int
        var subscriptions: Int
        var rows: [Row]
        var credentials: [Share]
        var hasMore: Bool
    }

    var document: Document {
        let held = plan.held
        return Document(
            devices: plan.devices(.everything), subscriptions: plan.dead(.everything).count,
            rows: plan.rows.map {
                .init(
                    platform: $0.platform.rawValue, app: $0.app, credential: $0.credential, devices: $0.devices,
                    subscriptions: $0.subscriptions)
            },
            credentials: plan.answers.sorted { $0.key < $1.key }.map {
                .init(credential: $0.key, answers: $0.value.all, dead: $0.value.dead, held: held.contains($0.key))
            },
            hasMore: plan.hasMore)
    }

    var text: String {
        let (rows, held) = (plan.rows, plan.held)
        var text = ""
        if !rows.isEmpty {
            var table = TextTable(["PLATFORM", "APP", "CREDENTIAL", "DEVICES", "SUBSCRIPTIONS", "OF ITS ANSWERS"])
            for row in rows {
                table.append([
                    row.platform.rawValue, row.app.isEmpty ? "-" : row.app, row.credential, Self.count(row.devices),
                    Self.count(row.subscriptions), share(of: row.credential),
                ])
            }
            text += table.text
        }
        text += ProgressLine.counted(plan.devices(.everything), "dead device")
        text += " with \(ProgressLine.counted(plan.dead(.everything).count, "subscription"))\n"
        for credential in held.sorted() {
            text += "\(credential) waits for a person: \(share(of: credential)) were about dead devices\n"
        }
        if plan.hasMore { text += "there is more evidence than one run takes: run it again\n" }
        return text
    }

    /// `1.2 % of 4,000`
    private func share(of credential: String) -> String {
        let answers = plan.answers[credential] ?? DeadEvidence.Answers()
        let permille = answers.all > 0 ? (answers.dead * 1_000 + answers.all / 2) / answers.all : 0
        return "\(permille / 10).\(permille % 10) % of \(Self.count(answers.all))"
    }

    static func sentence(_ report: ReapReport) -> String {
        var text =
            "Unsubscribed \(ProgressLine.counted(report.devices, "device")) from "
            + "\(ProgressLine.counted(report.subscriptions, "audience")).\n"
        if report.restored > 0 {
            text += "\(count(report.restored)) had changed meanwhile and were written again.\n"
        }
        return text
    }

    private static func count(_ number: Int) -> String { ProgressLine.grouped(number) }
}
