// Buttons that copy lines of the page. Without a script they are not there.
"use strict";

for (const button of document.querySelectorAll("[data-copies]")) {
  const lines = document.getElementById(button.dataset.copies);
  const words = button.firstChild;
  button.hidden = false;
  button.addEventListener("click", async () => {
    // Selected, too: pages without TLS have no clipboard.
    getSelection().selectAllChildren(lines);
    try {
      await navigator.clipboard.writeText(lines.textContent);
      words.data = "Copied";
    } catch {
      words.data = "Selected: press Ctrl+C";
    }
    setTimeout(() => (words.data = "Copy"), 3000);
  });
}
