import Testing

@testable import carillon
