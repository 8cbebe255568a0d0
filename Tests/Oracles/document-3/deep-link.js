// Document 3's `switch`, "Deep Link URL Construction", in JavaScript: `orderType.lowercased()` is `orderType.toLowerCase()`,
// and "\(orderId)" is `${orderId}`. A type without a case has no URL.
function deepLink(orderType, orderId) {
  let urlString;
  switch (orderType.toLowerCase()) {
  case 'food':
    urlString = `https://mikmik.site/track_order.php?order_id=${orderId}`;
    break;
  case 'd2d':
    urlString = `https://mikmik.site/d2d/track_d2d.php?order_id=${orderId}`;
    break;
  }
  return urlString;
}
