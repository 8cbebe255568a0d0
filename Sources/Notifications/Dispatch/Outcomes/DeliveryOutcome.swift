/// What became of a push at its provider: the end of a dispatch record. The raw value is the one in
/// `notifications.deliveries`.
package enum DeliveryOutcome: String, CaseIterable, Sendable, Encodable {
    /// The provider took it. That is no proof that the device got it.
    case accepted
    /// Its time was over before it was sent for the first time.
    case expired
    /// The provider says that the token is no longer valid.
    case deadDevice = "dead_device"
    /// The provider, or this configuration, does not allow it, and would not later.
    case refused
    /// It was tried until its time was over, or for the longest time that is allowed.
    case gaveUp = "gave_up"
    /// Its request was cancelled, or its broadcast cancelled or replaced, before it was accepted.
    case cancelled
    /// A newer push of its device, with the collapse key that both their requests set, was waiting when it was its turn.
    case superseded
}
