// Quoted from document 1, "FCM Notifications API Reference" of the Unified Order Service, section "Processing Status Change Events".
// Verbatim below this line; nothing is corrected.

async function processStatusChange(data) {
  // Validate status change specific fields
  if (!data.previous_status || !data.new_status) {
    console.error('Missing status change fields:', data);
    return;
  }
  
  // Update local order state
  await updateOrderStatus(data.order_id, data.new_status);
  
  // Show notification to user
  const notification = {
    title: 'Order Status Updated',
    body: `Order #${data.order_number} is now ${data.new_status}`,
    data: {
      orderId: data.order_id,
      previousStatus: data.previous_status,
      newStatus: data.new_status
    }
  };
  
  await showNotification(notification);
}
