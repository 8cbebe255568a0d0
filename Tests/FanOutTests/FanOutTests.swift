import Testing

@testable import FanOut
