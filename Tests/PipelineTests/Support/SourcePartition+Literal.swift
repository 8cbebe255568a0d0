import Notifications

@testable import Pipeline

/// Most tests read the events of orders alone.
extension SourcePartition: ExpressibleByIntegerLiteral {
    public init(integerLiteral number: Int32) { self.init(.orders, number) }
}
