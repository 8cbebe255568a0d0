import Replay

/// The plan of a re-drive for a person, and as JSON.
struct RedriveText {
    var plan: RedrivePlan
    var resume: RedriveResume?
    var id: String

    var text: String {
        var text = PlanText(input: plan.input, plan: plan.plan).text
        for reason in RedriveOmission.allCases {
            guard let count = plan.omitted[reason], count > 0 else { continue }
            text += "left out: \(ProgressLine.grouped(count)) \(reason.sentence)\n"
        }
        if let cursor = resume?.cursor {
            text +=
                "of \(ProgressLine.grouped(cursor.devices)) devices that were confirmed, "
                + "\(ProgressLine.grouped(cursor.sent)) are sent, \(ProgressLine.grouped(plan.devices)) are left\n"
        }
        return text
    }

    struct Document: Encodable {
        /// The progress of an interrupted run.
        struct Resumed: Encodable {
            var devices: Int
            var sent: Int
            var refused: Int
        }

        var id: String
        var plan: PlanText.Document
        var leftOut: [String: Int]
        var resumed: Resumed?
    }

    var document: Document {
        Document(
            id: id, plan: PlanText(input: plan.input, plan: plan.plan).document,
            leftOut: Dictionary(uniqueKeysWithValues: plan.omitted.map { ($0.key.rawValue, $0.value) }),
            resumed: resume.map { .init(devices: $0.cursor.devices, sent: $0.cursor.sent, refused: $0.cursor.refused) })
    }
}
