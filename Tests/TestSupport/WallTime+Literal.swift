import Time

/// Tests write times as milliseconds.
extension WallTime: ExpressibleByIntegerLiteral {
    public init(integerLiteral milliseconds: Int64) { self.init(milliseconds: milliseconds) }
}
