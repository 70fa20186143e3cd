// A double click sends a form twice, and the browser shows only the second answer: the first one, which may hold a new key,
// would be lost.
"use strict";

{
  const PAUSE_MS = 2000;
  const sent = new WeakMap();

  document.addEventListener("submit", (event) => {
    if (event.timeStamp - (sent.get(event.target) ?? -PAUSE_MS) < PAUSE_MS) event.preventDefault();
    else sent.set(event.target, event.timeStamp);
  });
}
