import Testing

@testable import NotificationPayload
