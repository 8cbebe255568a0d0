// Quoted from document 1, "FCM Notifications API Reference" of the Unified Order Service, section "Payload Validation".
// Verbatim below this line; nothing is corrected.

function validateFCMPayload(data) {
  // Extract the payload from the stringified default structure
  let payload;
  
  if (data.default) {
    try {
      // Parse the stringified JSON to get the nested structure
      const parsedDefault = JSON.parse(data.default);
      payload = parsedDefault.data;
    } catch (error) {
      throw new Error('Failed to parse FCM default payload: ' + error.message);
    }
  } else {
    // Fallback for legacy flat structure
    payload = data;
  }
  
  const requiredFields = [
    'message_id', 'order_id', 'parent_order_id', 
    'event_type', 'delivery_date', 'start_time', 
    'end_time', 'place_id'
  ];
  
  const missingFields = requiredFields.filter(field => !payload[field]);
  
  if (missingFields.length > 0) {
    throw new Error(`Missing required fields: ${missingFields.join(', ')}`);
  }
  
  // Validate date format
  if (!/^\d{4}-\d{2}-\d{2}$/.test(payload.delivery_date)) {
    throw new Error('Invalid delivery_date format, expected YYYY-MM-DD');
  }
  
  // Validate time format
  if (!/^\d{2}:\d{2}$/.test(payload.start_time) || !/^\d{2}:\d{2}$/.test(payload.end_time)) {
    throw new Error('Invalid time format, expected HH:MM');
  }
  
  return true;
}
