// Counts down holds, from the seconds that the server wrote into the page. The words are those of service/terminal/durations.py.

"use strict";

(() => {
  const MINUTE = 60;
  const HOUR = 3600;
  const DAY = 86400;
  const holds = [...document.querySelectorAll(".hold[data-seconds]")];
  const began = performance.now();

  const two = (large, largeUnit, small, smallUnit) => (small ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`);

  const words = (seconds) => {
    if (seconds <= 0) return "no time, the hold has expired";
    if (seconds < MINUTE) return "less than a minute";
    if (seconds < HOUR) return seconds < 2 * MINUTE ? "1 minute" : `${Math.floor(seconds / MINUTE)} minutes`;
    if (seconds < 2 * DAY) return two(Math.floor(seconds / HOUR), "h", Math.floor((seconds % HOUR) / MINUTE), "min");
    return two(Math.floor(seconds / DAY), "days", Math.floor((seconds % DAY) / HOUR), "h");
  };

  const tick = () => {
    const passed = (performance.now() - began) / 1000;
    let running = false;
    for (const hold of holds) {
      const seconds = Math.max(0, Math.ceil(Number(hold.dataset.seconds) - passed));
      const text = words(seconds);
      if (hold.textContent !== text) hold.textContent = text;
      running ||= seconds > 0;
    }
    if (!running) clearInterval(timer);
  };

  const timer = setInterval(tick, 1000);
})();
