import Testing

@testable import JSONReader
