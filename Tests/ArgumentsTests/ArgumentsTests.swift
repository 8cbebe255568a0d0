import Testing

@testable import Arguments
