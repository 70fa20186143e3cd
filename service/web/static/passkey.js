// Forms with `data-passkey` ask the browser for a passkey: `create` makes one, `get` shows one. The form then sends the
// browser's answer as its field `credential`. The challenge comes from `data-challenge`, so it is always a fresh one.
"use strict";

(() => {
  // Hides what the page says to those without this script, before it is seen.
  document.documentElement.dataset.passkeys = "asked for";

  const REQUEST_MS = 30_000;

  const bytesOf = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const textOf = (buffer) =>
    btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""))
      .replaceAll("+", "-")
      .replaceAll("/", "_")
      .replaceAll("=", "");

  const WORDS = {
    InvalidStateError: "This device already has a passkey of this account.",
    NotAllowedError: "No passkey was used: the request was cancelled, or its time ran out. Try again.",
    SecurityError: "The browser offers no passkeys at this address.",
  };

  const describe = (given) => ({ ...given, id: bytesOf(given.id) });

  const read = (options) => ({
    ...options,
    challenge: bytesOf(options.challenge),
    ...(options.user && { user: { ...options.user, id: bytesOf(options.user.id) } }),
    ...(options.excludeCredentials && { excludeCredentials: options.excludeCredentials.map(describe) }),
    ...(options.allowCredentials && { allowCredentials: options.allowCredentials.map(describe) }),
  });

  const written = (credential) => {
    const response = {};
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature"]) {
      if (name in credential.response) response[name] = textOf(credential.response[name]);
    }
    // A response to `create` has these data inside its attestation object.
    if (response.attestationObject) delete response.authenticatorData;
    return { id: credential.id, rawId: textOf(credential.rawId), type: credential.type, response };
  };

  const optionsOf = async (path) => {
    const answer = await fetch(path, { method: "POST", signal: AbortSignal.timeout(REQUEST_MS) });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.message);
    return read(body.publicKey);
  };

  const say = (form, words) => {
    const place = form.querySelector("[role=alert]");
    place.replaceChildren();
    if (!words) return;
    const note = document.createElement("p");
    note.className = "note bad";
    note.textContent = words;
    place.append(note);
  };

  const ask = async (form) => {
    if (!window.PublicKeyCredential) {
      say(form, "This browser has no passkeys here. They need a current browser, and https.");
      return;
    }
    say(form, "");
    try {
      const publicKey = await optionsOf(form.dataset.challenge);
      const credential = await navigator.credentials[form.dataset.passkey]({ publicKey });
      form.elements.credential.value = JSON.stringify(written(credential));
      // Does not fire `submit` again.
      form.submit();
    } catch (error) {
      const failed = error instanceof TypeError ? "The service did not answer. Try again." : error.message;
      say(form, WORDS[error.name] ?? failed);
    }
  };

  let busy = false;

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.dataset.passkey) return;
    event.preventDefault();
    if (busy) return;
    busy = true;
    await ask(form);
    busy = false;
  });
})();
