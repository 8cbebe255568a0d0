/// The types of document 2. The raw value is what a push carries in `type`.
public enum AppNotificationType: String, CaseIterable, Sendable {
    case generic = "Generic"
    case newBill = "NewBill"
    case billExportStarted = "BillExportStarted"
    case newBankingCardAddedSuccess = "NewBankingCardAddedSuccess"
    case newBankingCardAddedError = "NewBankingCardAddedError"
    case datevSuccess = "DatevSuccess"
    case datevError = "DatevError"
    case warrantyReminder = "WarrantyReminder"
    case finoSynchronisation = "FinoSynchronisation"
    case finoDisconnected = "FinoDisconnected"
    case finoChallengeRequired = "FinoChallengeRequired"
}
