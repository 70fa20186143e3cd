// The claim page: email, then code, then the usage of the claimed key.
//
// The script removes the claim token from the address bar at once. It keeps token and email in the history state of this
// tab, because phones can unload the page while the visitor reads the mail.

"use strict";

(() => {
  const RESEND_SECONDS = 60;
  const REQUEST_SECONDS = 30;
  const REMEMBERED_MS = 15 * 60 * 1000;

  const at = (id) => document.getElementById(id);
  const token = at("token");
  const email = at("email");
  const code = at("code");
  const problems = [at("start-problem"), at("complete-problem")];

  const title = document.title;

  let busy = false;

  // The memory of this tab.

  const memory = () => (history.state && history.state.claim) || {};
  const remember = (more) =>
    history.replaceState({ claim: { ...memory(), ...more } }, "", location.pathname + location.search);
  const forget = () => history.replaceState(null, "", location.pathname + location.search);

  // The token: from a link, or pasted alone.

  const tokenIn = (text) => {
    const found = /clm_[0-9A-Za-z]+/.exec(text);
    return found ? found[0] : text.trim();
  };

  const takeToken = () => {
    if (!/^#clm_/.test(location.hash)) return false;
    history.replaceState({ claim: { token: tokenIn(location.hash) } }, "", location.pathname + location.search);
    return true;
  };

  const showToken = (value) => {
    token.value = value;
    at("token-known").hidden = !value;
    at("token-field").hidden = Boolean(value);
    at("token-shown").textContent = value.slice(0, 10) + "\u2026";
  };

  // Buttons with a waiting time. `disabled` would drop their focus, so handlers call `usable` instead.

  const waits = new Map();

  const secondsLeft = (button) => {
    const wait = waits.get(button);
    return wait ? Math.max(0, Math.ceil((wait.until - Date.now()) / 1000)) : 0;
  };

  const usable = (button) => {
    const seconds = secondsLeft(button);
    if (!busy && seconds > 0) say(`You can try again in ${duration(seconds)}.`);
    return !busy && seconds === 0;
  };

  const paint = (button) => {
    const seconds = secondsLeft(button);
    button.setAttribute("aria-disabled", String(busy || seconds > 0));
    button.dataset.label = button.dataset.label || button.textContent;
    button.textContent = button.dataset.label + (seconds > 0 ? ` (${duration(seconds)})` : "");
    return seconds;
  };

  const stopWaiting = (button) => {
    if (waits.has(button)) clearInterval(waits.get(button).timer);
    waits.delete(button);
    paint(button);
  };

  const waitFor = (button, seconds, after = () => {}) => {
    stopWaiting(button);
    const tick = () => {
      if (paint(button) > 0) return;
      stopWaiting(button);
      after();
    };
    waits.set(button, { until: Date.now() + seconds * 1000, timer: setInterval(tick, 1000) });
    paint(button);
  };

  const duration = (seconds) => {
    if (seconds < 120) return `${seconds} s`;
    const minutes = Math.ceil(seconds / 60);
    return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };

  const setBusy = (now) => {
    busy = now;
    for (const button of document.querySelectorAll(".actions button")) paint(button);
  };

  // Messages.

  const say = (words) => {
    at("status").textContent = words;
  };

  const complain = (message, next, field) => {
    const note = document.createElement("div");
    note.className = "note bad";
    for (const words of [message, next].filter(Boolean)) {
      const line = document.createElement("p");
      line.textContent = words;
      note.append(line);
    }
    for (const place of problems) place.replaceChildren(...(place.closest("[hidden]") ? [] : [note]));
    say("");
    if (field) {
      field.setAttribute("aria-invalid", "true");
      field.focus();
      field.select();
    }
    note.scrollIntoView({ block: "nearest" });
    return note;
  };

  const clear = () => {
    for (const place of problems) place.replaceChildren();
    for (const field of [token, email, code]) field.removeAttribute("aria-invalid");
    say("");
  };

  const show = (step) => {
    for (const id of ["start", "complete", "done"]) at(id).hidden = id !== step;
  };

  // Requests. `post` always returns {ok, status, body, seconds}; status 0 means that there was no response.

  const post = async (path, values) => {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), REQUEST_SECONDS * 1000);
    try {
      const response = await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(values),
        credentials: "omit",
        cache: "no-store",
        signal: abort.signal,
      });
      const text = await response.text();
      let body = {};
      try {
        body = JSON.parse(text) || {};
      } catch {
        // The body is a proxy's page; only the status is useful.
      }
      const seconds = Number(body.retryAfter || response.headers.get("Retry-After")) || 0;
      return { ok: response.ok && text !== "", status: response.status, body, seconds };
    } catch {
      return { ok: false, status: 0, body: {}, seconds: 0 };
    } finally {
      clearTimeout(timer);
    }
  };

  const explain = (answer, button, field) => {
    const { status, body, seconds } = answer;
    const message = String(body.message || "").replace(/^The body is not valid: (email|code): /, "");
    if (status === 0) {
      complain("The service could not be reached.", "Check your connection and try again. Nothing is lost.");
      return;
    }
    if (seconds > 0) {
      const why = message.replace(/\s*Try again in \d+ s\.$/, "") || "The service cannot answer now.";
      const next = `You can try again in ${duration(seconds)}.`;
      const have = " If the mail has arrived, choose \u201cI have a code\u201d.";
      const note = complain(why, button === at("send") && status === 429 ? next + have : next);
      waitFor(button, seconds, () => {
        if (!note.isConnected) return;
        clear();
        say("You can try again now.");
      });
      return;
    }
    switch (body.error) {
      case "invalid_request":
        complain(message, "Correct this and try again.", /claimToken/.test(message) ? openToken() : field);
        return;
      case "invalid_claim":
        if (field === code) {
          complain(message, "Choose \u201cChange email\u201d to check the email and the claim token.");
        } else {
          complain(message, "Compare it with the link or the response that came with the key.", openToken());
        }
        return;
      case "invalid_code":
        complain(message, "Use the code of the newest mail, or send a new one. After a few wrong codes, only a new one works.", code);
        return;
      case "already_upgraded":
        forget();
        complain(message, "If that was you, the key is ready to use. If not, create a new key.");
        return;
      case "key_limit":
        complain(message, "You can also claim this key with another email: choose \u201cChange email\u201d.");
        return;
      default:
        complain(message || `The service answered with status ${status}.`, "Try again in a moment.");
    }
  };

  const openToken = () => {
    const value = token.value;
    showToken("");
    token.value = value;
    return token;
  };

  // The steps.

  const filled = () => {
    clear();
    token.value = tokenIn(token.value);
    email.value = email.value.trim();
    if (token.value.length < 8) {
      complain("The claim token is missing.", "Paste the token or the whole link.", openToken());
      return false;
    }
    if (!email.checkValidity()) {
      complain("This is not a complete email address.", "It looks like name@example.com.", email);
      return false;
    }
    remember({ token: token.value, email: email.value });
    return true;
  };

  const askForCode = (words) => {
    at("sent-words").textContent = words;
    at("sent-to").textContent = email.value;
    show("complete");
    code.focus();
  };

  const send = async (button) => {
    if (!usable(button) || !filled()) return;
    setBusy(true);
    say("Sending the code\u2026");
    const answer = await post("/api/v1/auth/claim", { claimToken: token.value, email: email.value });
    setBusy(false);
    if (!answer.ok) {
      explain(answer, button, button.id === "send" ? email : null);
      return;
    }
    remember({ sentMs: Date.now() });
    waitFor(at("again"), RESEND_SECONDS);
    waitFor(at("send"), RESEND_SECONDS);
    code.value = "";
    askForCode("A code was sent to");
    say(`A code was sent to ${email.value}.`);
  };

  const finish = async () => {
    const button = at("finish");
    if (!usable(button)) return;
    clear();
    const digits = code.value.replace(/[\s-]/g, "");
    if (digits.length < 4) {
      complain("The code is not complete.", "It is the number in the mail.", code);
      return;
    }
    setBusy(true);
    say("Checking the code\u2026");
    const values = { claimToken: token.value, email: email.value, code: digits };
    const answer = await post("/api/v1/auth/claim/complete", values);
    setBusy(false);
    if (answer.ok) celebrate(answer.body);
    else explain(answer, button, code);
  };

  const celebrate = (usage) => {
    const number = (value) => Number(value).toLocaleString();
    const used = (count, limit) =>
      limit == null ? `${number(count)} requests` : `${number(count)} of ${number(limit)} requests`;
    forget();
    token.value = code.value = "";
    at("done-key").textContent = `${usage.keyPrefix}\u2026`;
    at("done-email").textContent = usage.email || email.value;
    at("done-status").textContent = usage.status;
    at("done-month").textContent = used(usage.requestsUsed, usage.requestLimit);
    at("done-day").textContent = used(usage.dailyRequestsUsed, usage.dailyRequestLimit);
    at("terminal").hidden = true;
    clear();
    show("done");
    document.title = "The key is claimed - Catalog";
    at("done-title").focus();
  };

  // The script words its own validation messages.
  for (const form of [at("start"), at("complete")]) form.noValidate = true;
  at("start").addEventListener("submit", (event) => {
    event.preventDefault();
    send(at("send"));
  });
  at("complete").addEventListener("submit", (event) => {
    event.preventDefault();
    finish();
  });
  // Without this script, these buttons send their form.
  at("again").addEventListener("click", (event) => {
    event.preventDefault();
    send(at("again"));
  });
  at("have-code").addEventListener("click", (event) => {
    event.preventDefault();
    if (!busy && filled()) askForCode("Enter the code that was sent to");
  });
  at("change").addEventListener("click", (event) => {
    event.preventDefault();
    if (busy) return;
    clear();
    show("start");
    email.focus();
  });
  at("token-other").addEventListener("click", () => {
    showToken("");
    stopWaiting(at("send"));
    token.focus();
  });

  const begin = () => {
    const { token: known = "", email: address = "", sentMs = 0 } = memory();
    clear();
    for (const button of waits.keys()) stopWaiting(button);
    at("terminal").hidden = false;
    document.title = title;
    showToken(known);
    email.value = address;
    const since = Date.now() - sentMs;
    if (known && address && since >= 0 && since < REMEMBERED_MS) {
      const left = RESEND_SECONDS - since / 1000;
      for (const id of ["again", "send"]) if (left > 0) waitFor(at(id), left);
      askForCode("A code was sent to");
    } else {
      show("start");
    }
  };

  takeToken();
  begin();
  // The skip link changes the fragment, too; only a token restarts the page.
  addEventListener("hashchange", () => {
    if (takeToken()) begin();
  });
})();
