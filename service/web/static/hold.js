// Counts down holds, from the seconds that the server wrote into the page.

"use strict";

(() => {
  const holds = [...document.querySelectorAll(".hold[data-seconds]")];
  const began = performance.now();

  const words = (seconds) => (seconds > 0 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : "0 s, the hold has expired");

  const tick = () => {
    const passed = (performance.now() - began) / 1000;
    let running = false;
    for (const hold of holds) {
      const seconds = Math.max(0, Math.ceil(Number(hold.dataset.seconds) - passed));
      hold.textContent = words(seconds);
      running ||= seconds > 0;
    }
    if (!running) clearInterval(timer);
  };

  const timer = setInterval(tick, 1000);
})();
