// Moves the claim token of a link from the address to the form. The history state of the tab keeps token and email, because
// phones can unload a page while its visitor reads the mail.
"use strict";
{
	const KEPT_MS = 15 * 60_000;
	const keep = (state) => history.replaceState(state, "", "/claim");
	const take = () => {
		const [, token] = /^#(clm_[0-9A-Za-z]+)/.exec(location.hash) ?? [];
		if (token) keep({ token });
		return token;
	};
	take();

	const [start, complete] = [at("start"), at("complete")];

	const know = (known) => {
		at("token-known").hidden = !known;
		at("token-field").hidden = known;
	};

	const restore = () => {
		const { token, email = "", sent = 0 } = history.state;
		for (const { elements } of [start, complete]) {
			elements.claimToken.value = token;
			elements.email.value = email;
		}
		know(Boolean(token));
		at("sent-to").textContent = email;
		start.hidden = Date.now() < sent + KEPT_MS;
		complete.hidden = !start.hidden;
		if (start.hidden) at("code").focus();
	};

	if (location.pathname !== "/claim") {
		// The answer to a form. A reload must not send it again.
		const { claimToken, email } = (complete.hidden ? start : complete).elements;
		keep({ token: claimToken.value, email: email.value, sent: complete.hidden ? 0 : Date.now() });
	} else if (history.state) restore();

	addEventListener("hashchange", () => take() && restore());
	at("token-other").addEventListener("click", () => {
		know(false);
		at("token").focus();
	});
}
