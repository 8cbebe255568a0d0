/// Types of app notifications beside document 2's own (docs/rules.md §9.1).
public struct AppTypes: Equatable, Sendable {
    /// A key of `data` that always has one value.
    public struct FixedPair: Equatable, Sendable {
        public let key: String
        public let value: String
    }

    public struct AppType: Equatable, Sendable {
        public let name: String
        /// In the order in which absent ones are added.
        public let fixed: [FixedPair]
        /// Keys whose absence is counted.
        public let expected: [String]

        init(_ name: String, _ fixed: KeyValuePairs<String, String> = [:], expected: [String] = []) {
            self.init(name, fixed.map { FixedPair(key: $0.key, value: $0.value) }, expected: expected)
        }

        init(_ name: String, _ fixed: [FixedPair], expected: [String]) {
            self.name = name
            self.fixed = fixed
            self.expected = expected
        }
    }

    /// Those of the setting `app-types`.
    public let added: [AppType]

    public init() {
        added = []
    }

    init(added: [AppType]) {
        self.added = added
    }

    /// Document 2's types.
    public static let documented: [AppType] = [
        AppType("Generic"),
        AppType("NewBill", ["bill_matched_via_banking_card": "True"]),
        AppType("BillExportStarted"),
        AppType("NewBankingCardAddedSuccess", ["bank_card_link_success": "True"]),
        AppType("NewBankingCardAddedError", ["bank_card_link_success": "False"]),
        AppType("DatevSuccess", ["click_action": "FLUTTER_NOTIFICATION_CLICK", "view": "datev_success"]),
        AppType(
            "DatevError", ["click_action": "FLUTTER_NOTIFICATION_CLICK", "view": "datev_failed"],
            expected: ["message", "errorUri", "error", "requestId"]),
        AppType("WarrantyReminder"),
        AppType("FinoSynchronisation", ["service": "fino", "action": "added"]),
        AppType("FinoDisconnected", ["service": "fino", "action": "deleted"]),
        AppType("FinoChallengeRequired", expected: ["bankId"]),
    ]
}
