// Quoted from document 1, "FCM Notifications API Reference" of the Unified Order Service, section "Test Payload Generation".
// Verbatim below this line; nothing is corrected.

// Generate test payload for order creation (actual FCM format)
function generateTestOrderCreatedPayload() {
  const data = {
    message_id: `msg-${Date.now()}-${Math.random().toString(36).substr(2, 9)}`,
    order_id: '742ba33c-0c02-43e7-80b0-eb795c14dc6f',
    parent_order_id: '742ba33c-0c02-43e7-80b0-eb795c14dc6f',
    event_type: 'event_order_created',
    delivery_date: '2025-07-07',
    start_time: '14:00',
    end_time: '16:00',
    place_id: '1ee68c4e-7008-4227-a92d-e1b13ac64f30'
  };

  // Return actual FCM format with stringified nested structure
  return {
    default: JSON.stringify({ data })
  };
}

// Helper function to parse received FCM payload
function parseReceivedFCMPayload(fcmData) {
  if (fcmData.default) {
    try {
      const parsedDefault = JSON.parse(fcmData.default);
      return parsedDefault.data;
    } catch (error) {
      console.error('Failed to parse FCM payload:', error);
      return null;
    }
  }
  // Fallback for legacy format
  return fcmData;
}
