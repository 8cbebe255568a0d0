import Testing

@testable import Extraction
