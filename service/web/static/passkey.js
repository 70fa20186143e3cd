// Forms with `data-passkey` ask the browser to `create` or `get` a passkey, and send its answer as the field `credential`.
// `data-challenge` is the operation with a fresh challenge.
"use strict";
{
	// Hides the words for those without this script.
	document.documentElement.dataset.passkeys = "";

	const WORDS = {
		InvalidStateError: "This device already has a passkey of this account.",
		NotAllowedError: "No passkey was used: the request was cancelled, or its time ran out. Try again.",
		SecurityError: "The browser offers no passkeys at this address.",
	};
	const PARSERS = { create: "parseCreationOptionsFromJSON", get: "parseRequestOptionsFromJSON" };

	const ask = async ({ passkey, challenge }) => {
		const parse = window.PublicKeyCredential?.[PARSERS[passkey]];
		if (!parse) throw Error("This browser offers no passkeys here. They need a current browser, and https.");
		const answer = await fetch(challenge, { method: "POST", signal: AbortSignal.timeout(30_000) });
		const body = await answer.json();
		if (!answer.ok) throw Error(body.message);
		return navigator.credentials[passkey]({ publicKey: parse.call(PublicKeyCredential, body.publicKey) });
	};

	let busy = false;
	addEventListener("submit", async (event) => {
		const form = event.target;
		if (!form.dataset.passkey) return;
		event.preventDefault();
		if (busy) return;
		busy = true;
		const problem = form.querySelector("[role=alert]");
		problem.hidden = true;
		try {
			form.elements.credential.value = JSON.stringify(await ask(form.dataset));
			form.submit();
		} catch (error) {
			problem.textContent = WORDS[error.name] ?? (error.name === "Error" ? error.message : "This did not work. Try again.");
			problem.hidden = false;
		}
		busy = false;
	});
}
