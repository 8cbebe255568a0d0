import Testing

@testable import StateStore
