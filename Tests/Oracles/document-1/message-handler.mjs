// Quoted from document 1, "FCM Notifications API Reference" of the Unified Order Service, section "Mobile App Message Handler".
// Verbatim below this line; nothing is corrected.

// React Native FCM message handler
import messaging from '@react-native-firebase/messaging';

messaging().setBackgroundMessageHandler(async (remoteMessage) => {
  const { data } = remoteMessage;
  
  // Extract the payload from the stringified default structure
  // FCM sends the nested structure as a JSON string in the 'default' key
  let payload;
  
  if (data.default) {
    try {
      // Parse the stringified JSON to get the nested structure
      const parsedDefault = JSON.parse(data.default);
      payload = parsedDefault.data;
    } catch (error) {
      console.error('Failed to parse FCM default payload:', error);
      return;
    }
  } else {
    // Fallback for legacy flat structure
    payload = data;
  }
  
  // Validate required fields
  if (!payload.message_id || !payload.event_type || !payload.place_id) {
    console.error('Invalid FCM payload:', payload);
    return;
  }
  
  // Process based on event type
  switch (payload.event_type) {
    case 'event_order_created':
      await processOrderCreated(payload);
      break;
    case 'event_order_status_changed':
      await processStatusChange(payload);
      break;
    case 'event_timeslot_started':
      await processTimeslotStarted(payload);
      break;
    case 'event_unpicked_orders_reminder':
      await processUnpickedReminder(payload);
      break;
    default:
      console.warn('Unknown event type:', payload.event_type);
  }
});
