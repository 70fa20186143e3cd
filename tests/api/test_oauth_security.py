"""The security considerations of MCP and of OAuth (RFC 9700), line by line: attempts and their ends."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from actors.clock import DAY_MS, MINUTE_MS, SECOND_MS
from actors.values import Scope
from tests.api.agents import message, send
from tests.api.callers import OUR_PAGE, cookie
from tests.api.conformity import BASE_URL
from tests.api.oauth import (
    ANN,
    AUTHORIZE,
    CALLBACK,
    FORM,
    REGISTER,
    REVOKE,
    TOKEN,
    VERIFIER,
    Program,
    agent,
    answer_of,
    challenge_of,
    form_of,
    form_sent,
    registered,
    sent,
)
from tests.api.world import World, open_world
from tests.web.visitors import Seen

EVIL = "https://evil.example/callback"
Attack = Callable[[World], Awaitable[None]]


async def consent_is_asked_each_time(world: World) -> None:
    """Confused deputy: an approval never stands for another request, not even of the same client."""
    ann, client = world.session(ANN), await agent(world)
    await client.tokens(ann)
    again = await client.opened(ann)
    assert again.status == 200
    assert "approve" in form_of(again).buttons


async def consent_is_of_one_client(world: World) -> None:
    """Confused deputy: the form of one client approves no other one, nor another redirect URI, scope or resource."""
    ann, client, evil = world.session(ANN), await agent(world), Program(world, await registered(world, EVIL), EVIL)
    form = form_of(await client.opened(ann))
    for request in (
        evil.request(),
        client.request(scope="library:read sponsor:read"),
        client.request(resource=BASE_URL),
        client.request(code_challenge=challenge_of("x" * 43)),
        client.request(state="another"),
    ):
        changed = replace(form, fields=form.fields | {"request": request.partition("?")[2]})
        response = await sent(world, ann, changed)
        assert (response.status, "Nothing was done" in Seen.of(response).text) == (409, True)
    assert not world.memory.authorizations


async def a_form_gives_no_more_than_was_asked(world: World) -> None:
    ann, client = world.session(ANN, admin=True), await agent(world)
    form = form_of(await client.opened(ann))
    every = {f"scope {scope}": "on" for scope in Scope}
    code = answer_of(await sent(world, ann, form, **every))["code"]
    assert (await client.exchanged(code)).json["scope"] == "library:read"


async def the_page_says_who_asks(world: World) -> None:
    """Consent page: the name as the client's own claim, where the browser goes, each scope, the account and the end."""
    ann, client = world.session(ANN), Program(world, await registered(world, EVIL, client_name="The bank"), EVIL)
    page = Seen.of(await client.opened(ann, scope="library:read sponsor:read")).text
    for shown in (
        "calls itself The bank",
        "Nobody has checked that name",
        "evil.example",
        ANN,
        "sponsor:read",
        "90 days",
    ):
        assert shown in page, shown
    assert "on this computer" in Seen.of(await (await agent(world)).opened(ann)).text, (
        "a loopback address is nobody's own"
    )


async def the_page_is_in_no_frame_and_no_cache(world: World) -> None:
    ann, client = world.session(ANN), Program(world, await registered(world, EVIL), EVIL)
    page = await client.opened(ann)
    policy = page.header("content-security-policy") or ""
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://evil.example;" in policy, "only this page may lead there"
    assert page.header("x-frame-options") == "DENY"
    assert page.header("cache-control") == "no-store"
    assert page.header("referrer-policy") == "same-origin", "other sites get no referrer"
    gone = await sent(world, ann, form_of(page))
    assert (gone.header("referrer-policy"), gone.header("cache-control")) == ("no-referrer", "no-store")


async def the_form_is_sent_from_our_page_only(world: World) -> None:
    """CSRF of the approval."""
    ann, client = world.session(ANN), await agent(world)
    form = form_of(await client.opened(ann))
    body = "&".join((f"request={form.fields['request']}", f"ticket={form.fields['ticket']}", "days=90", "do=approve"))
    for site in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {},
    ):
        headers = {**FORM, **cookie(ann), **site, "accept": "text/html"}
        assert (await world.client.post(AUTHORIZE, headers=headers, body=body.encode())).status == 403
    assert not world.memory.authorizations


async def a_link_approves_nothing(world: World) -> None:
    ann, client = world.session(ANN), await agent(world)
    for more in ("&do=approve", "&prompt=none", "&approve=1"):
        page = await world.client.get(client.request() + more, headers=cookie(ann) | OUR_PAGE)
        assert page.status == 200
    assert not world.memory.authorizations


async def a_form_is_of_one_session_for_a_while(world: World) -> None:
    """Replayed approval, and a sign-in to the attacker's account between the page and the form."""
    ann, eve, client = world.session(ANN), world.session("eve@example.com"), await agent(world)
    form = form_of(await client.opened(ann))
    for who in (eve, world.session(ANN)):
        assert "signed in anew" in Seen.of(await sent(world, who, form)).text
    await world.pass_seconds(15 * 60)
    late = await sent(world, ann, form)
    assert late.status == 409
    fresh = form_of(late)
    assert "code" in answer_of(await sent(world, ann, fresh)), "the page that is shown again has a new form"


async def a_form_allows_once_and_its_own_client_only(world: World) -> None:
    ann, client = world.session(ANN), await agent(world)
    form = form_of(await client.opened(ann))
    code = answer_of(await sent(world, ann, form))["code"]
    again = await sent(world, ann, form)
    assert (again.status, "This form was sent before" in Seen.of(again).text) == (409, True)
    assert len(world.memory.authorizations) == 1
    other = await agent(world, client_name="Another")
    assert (await other.exchanged(code)).words == "400 invalid_grant"


async def approvals_have_a_bound(world: World) -> None:
    ann, client = world.session(ANN), await agent(world)
    statuses = [(await client.decided(ann)).status for _ in range(25)]
    assert statuses.count(303) == 20
    assert len(world.memory.authorizations) == 20


async def errors_lead_nowhere_unless_the_client_is_right(world: World) -> None:
    """Open redirection: a wrong client or redirect URI is answered by a page without a way on."""
    ann, client = world.session(ANN), await agent(world)
    changes: tuple[dict[str, str | None], ...] = (
        {"redirect_uri": EVIL},
        {"redirect_uri": f"{CALLBACK}/other"},
        {"redirect_uri": "http://127.0.0.1:8123@evil.example/callback"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": None},
        {"client_id": "cli_unknown"},
        {"client_id": None},
        {"client_id": "https://evil.example/none.json"},
    )
    for changed in changes:
        for more in ({}, {"response_type": "token"}):
            page = await client.opened(ann, **changed, **more)
            assert (page.status, page.header("location")) == (400, None), changed
            assert not any("evil" in link for link in Seen.of(page).links)


async def errors_of_a_right_client_go_back_to_it(world: World) -> None:
    """Open redirection: a browser follows by itself to its own machine only; elsewhere its person decides."""
    ann, client, remote = world.session(ANN), await agent(world), Program(world, await registered(world, EVIL), EVIL)
    here = answer_of(await client.opened(ann, scope="admin:write"))
    page = Seen.of(answered := await remote.opened(ann, scope="admin:write"))
    [link] = [link for link in page.links if link.startswith(EVIL)]
    assert answered.status == 400
    there = dict(parse_qsl(urlsplit(link).query))
    for answer in (here, there):
        assert (answer["error"], answer["state"], answer["iss"]) == ("invalid_scope", "a state", BASE_URL)
        assert re.fullmatch(r"[ !#-\[\]-~]+", answer["error_description"])
    denied = answer_of(await remote.decided(ann, "deny"))
    assert (denied["error"], denied["state"], denied["iss"]) == ("access_denied", "a state", BASE_URL)
    stranger = await world.client.get(remote.request(scope="admin:write"), headers={"accept": "text/html"})
    assert (stranger.header("location") or "").startswith("/sign-in?next=%2Foauth%2Fauthorize%3F"), (
        "first of all, who it is"
    )


async def a_code_is_of_its_client_and_its_redirect(world: World) -> None:
    """Code injection: a stolen code is no use to another client, elsewhere, or without the verifier."""
    ann, client, other = world.session(ANN), await agent(world), await agent(world, client_name="Another")
    code = await client.code(ann)
    for attempt in (
        other.exchanged(code),
        client.exchanged(code, redirect_uri="http://127.0.0.1:9/callback"),
        client.exchanged(code, code_verifier="x" * 43),
        client.exchanged(code, code_verifier=challenge_of(VERIFIER)),
    ):
        assert (await attempt).words == "400 invalid_grant"
    assert (await client.exchanged(code, resource=BASE_URL)).words == "400 invalid_target"
    assert (await client.exchanged(code)).words == "200", "no attempt has used it up"


async def no_code_without_pkce(world: World) -> None:
    """PKCE downgrade: neither a request nor an exchange goes without it, or with `plain`."""
    ann, client = world.session(ANN), await agent(world)
    wrong: tuple[dict[str, str | None], ...] = (
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": None},
        {"code_challenge": ""},
    )
    for changed in wrong:
        assert answer_of(await client.opened(ann, **changed))["error"] == "invalid_request"
    code = await client.code(ann)
    for verifier in (None, "", "x" * 42, "x" * 129, "ä" * 43):
        assert (await client.exchanged(code, code_verifier=verifier)).words == "400 invalid_request"


async def a_code_works_once_for_a_minute(world: World) -> None:
    """Code replay: the second use ends the tokens of the first."""
    ann, client = world.session(ANN), await agent(world)
    code = await client.code(ann)
    tokens = (await client.exchanged(code)).json
    assert (await client.exchanged(code)).words == "400 invalid_grant"
    assert (await client.refreshed(tokens["refresh_token"])).words == "400 invalid_grant"
    assert (await send(world, message("ping"), tokens["access_token"])).status == 401
    late = await client.code(ann)
    await world.pass_seconds(10 * MINUTE_MS // SECOND_MS)
    assert (await client.exchanged(late)).words == "400 invalid_grant"


async def a_refresh_token_works_once(world: World) -> None:
    """Token theft: refresh tokens rotate, and one that was used before ends all."""
    ann, client, other = world.session(ANN), await agent(world), await agent(world, client_name="Another")
    tokens = await client.tokens(ann)
    assert (await other.refreshed(tokens["refresh_token"])).words == "400 invalid_grant"
    new = (await client.refreshed(tokens["refresh_token"])).json
    assert new["refresh_token"] != tokens["refresh_token"]
    await world.pass_seconds(3_600)
    assert (await client.refreshed(tokens["refresh_token"])).words == "400 invalid_grant"
    assert (await client.refreshed(new["refresh_token"])).words == "400 invalid_grant"


async def an_access_token_is_short_lived(world: World) -> None:
    ann, client = world.session(ANN), await agent(world)
    tokens = await client.tokens(ann)
    assert 0 < tokens["expires_in"] <= 3_600
    await world.pass_seconds(tokens["expires_in"])
    ended = await send(world, message("tools/list"), tokens["access_token"])
    assert (ended.status, 'error="invalid_token"' in (ended.header("www-authenticate") or "")) == (401, True)
    assert (await client.refreshed(tokens["refresh_token"])).words == "200"


async def tokens_are_of_this_service(world: World) -> None:
    """Token passthrough and audience: a token of another service, and a resource of another service, get nothing."""
    for token in ("eyJhbGciOiJub25lIn0.e30.", "ya29.a-token-of-another-service", "sk-another"):
        response = await send(world, message("tools/call", {"name": "search_bots", "arguments": {}}), token)
        assert response.status == 401
    ann, client = world.session(ANN), await agent(world)
    wrong = answer_of(await client.opened(ann, resource="https://elsewhere.example/mcp"))
    assert wrong["error"] == "invalid_target"
    tokens = await client.tokens(ann)
    usage = message("tools/call", {"name": "get_usage"})
    in_query = await world.client.post(f"/mcp?access_token={tokens['access_token']}", json=usage)
    assert in_query.status == 401, "tokens are never taken from an address"


async def answers_name_their_issuer(world: World) -> None:
    """Mix-up: every answer has `iss`, and the metadata says so."""
    ann, client = world.session(ANN), await agent(world)
    metadata = (await world.client.get("/.well-known/oauth-authorization-server")).json
    assert metadata["authorization_response_iss_parameter_supported"] is True
    for do in ("approve", "deny"):
        assert answer_of(await client.decided(ann, do))["iss"] == metadata["issuer"]


async def clients_have_no_secret(world: World) -> None:
    ann = world.session(ANN)
    response = await world.client.post(
        REGISTER,
        json={"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_basic", "software": "x"},
    )
    assert response.json["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in response.json
    client = Program(world, response.json["client_id"])
    code = await client.code(ann)
    assert (await client.exchanged(code, client_secret="a secret")).words == "401 invalid_client"
    assert (await client.exchanged(code, client_id="cli_unknown")).words == "401 invalid_client"
    basic = await form_sent(world, TOKEN, {"grant_type": "authorization_code"}, Authorization="Basic Y2xpOng=")
    assert (basic.words, basic.header("www-authenticate")) == ("401 invalid_client", "Basic")


async def requests_for_tokens_follow_the_rfc(world: World) -> None:
    for fields, words in (
        ({}, "400 invalid_request"),
        ({"grant_type": "password"}, "400 unsupported_grant_type"),
        ({"grant_type": "refresh_token", "client_id": "https://a.example/b"}, "400 invalid_request"),
        (
            {"grant_type": "refresh_token", "refresh_token": "x", "client_id": "https://a.example/b"},
            "400 invalid_grant",
        ),
        ({"grant_type": "authorization_code", "code": "x"}, "400 invalid_request"),
    ):
        response = await form_sent(world, TOKEN, fields)
        assert response.words == words
        assert response.json["error_description"]
        assert response.header("cache-control") == "no-store"
    twice = await world.client.post(TOKEN, headers=FORM, body=b"grant_type=refresh_token&grant_type=refresh_token")
    assert twice.words == "400 invalid_request"


async def a_client_ends_its_own_tokens_only(world: World) -> None:
    ann, client, other = world.session(ANN), await agent(world), await agent(world, client_name="Another")
    tokens = await client.tokens(ann)
    for token in ("nonsense", tokens["refresh_token"], tokens["access_token"]):
        answer = await form_sent(world, REVOKE, {"token": token, "client_id": other.client_id})
        assert (answer.words, answer.json) == ("200", {})
    assert (await send(world, message("ping"), tokens["access_token"])).status == 200
    await form_sent(world, REVOKE, {"token": tokens["access_token"], "client_id": client.client_id})
    assert (await send(world, message("ping"), tokens["access_token"])).status == 401


async def a_suspended_account_approves_nothing(world: World) -> None:
    ann, client = world.session(ANN), await agent(world)
    form = form_of(await client.opened(ann))
    code = answer_of(await sent(world, ann, form))["code"]
    world.memory.accounts[ANN] = replace(
        world.memory.accounts[ANN], suspended_ms=world.now_ms, suspension_reason="Abuse"
    )
    for response in (await client.opened(ann), await sent(world, ann, form)):
        assert (response.status, response.header("location")) == (303, "/account/suspended")
    assert (await client.exchanged(code)).words == "400 invalid_grant"


async def a_registration_ends_if_it_is_not_used(world: World) -> None:
    ann, used, unused = world.session(ANN, expires_in_ms=100 * DAY_MS), await agent(world), await agent(world)
    tokens = await used.tokens(ann, days="365")
    await world.pass_seconds(29 * 86_400)
    assert (await used.refreshed(tokens["refresh_token"])).words == "200"
    assert (await unused.opened(ann)).status == 200
    await world.pass_seconds(2 * 86_400)
    assert (await used.opened(ann)).status == 200
    page = await unused.opened(ann)
    assert (page.status, "not registered here any more" in Seen.of(page).text) == (400, True)


URL = "https://client.example.com/metadata.json"
DOCUMENT = {"client_id": URL, "client_name": "A client", "redirect_uris": [CALLBACK]}


async def a_document_describes_a_client(world: World) -> None:
    ann, client = world.session(ANN), Program(world, URL)
    world.documents.put(URL, DOCUMENT)
    page = Seen.of(await client.opened(ann)).text
    assert "Its maker describes it at client.example.com" in page
    tokens = await client.tokens(ann)
    assert (await client.refreshed(tokens["refresh_token"])).words == "200"
    assert (await client.opened(ann, redirect_uri=EVIL)).status == 400
    assert world.documents.fetched == [URL], "it is remembered"
    await world.pass_for_memory(3_600)
    await client.opened(ann)
    assert world.documents.fetched == [URL] * 2


async def documents_are_fetched_for_people_only(world: World) -> None:
    """SSRF: nobody but a signed-in person has anything fetched, and never the token endpoint."""
    client = Program(world, URL)
    await world.client.get(client.request(), headers={"accept": "text/html"})
    await client.exchanged("a code")
    await client.refreshed("a token")
    assert world.documents.fetched == []
    ann = world.session(ANN)
    for _ in range(3):
        page = await client.opened(ann)
        assert (page.status, page.header("location")) == (400, None)
    assert world.documents.fetched == [URL], "a failure is remembered for a minute"
    await world.pass_for_memory(60)
    await client.opened(ann)
    assert world.documents.fetched == [URL] * 2


async def registrations_keep_nothing(world: World) -> None:
    """Registration floods: they change no row, and a network has a limit."""
    before = repr(world.memory)
    statuses = []
    for number in range(100):
        address = f"203.0.113.{number % 5}"
        response = await world.client.post(REGISTER, json={"redirect_uris": [CALLBACK]}, address=address)
        statuses.append(response.status)
    assert set(statuses) == {201, 429}
    assert statuses.count(201) == 30, "a network counts as one"
    assert (await world.client.post(REGISTER, json={"redirect_uris": [CALLBACK]}, address="198.51.100.7")).status == 201
    assert repr(world.memory) == before


CHECKLIST: Mapping[str, Attack] = {
    attack.__name__: attack
    for attack in (
        consent_is_asked_each_time,
        consent_is_of_one_client,
        a_form_gives_no_more_than_was_asked,
        the_page_says_who_asks,
        the_page_is_in_no_frame_and_no_cache,
        the_form_is_sent_from_our_page_only,
        a_link_approves_nothing,
        a_form_is_of_one_session_for_a_while,
        a_form_allows_once_and_its_own_client_only,
        approvals_have_a_bound,
        errors_lead_nowhere_unless_the_client_is_right,
        errors_of_a_right_client_go_back_to_it,
        a_code_is_of_its_client_and_its_redirect,
        no_code_without_pkce,
        a_code_works_once_for_a_minute,
        a_refresh_token_works_once,
        an_access_token_is_short_lived,
        tokens_are_of_this_service,
        answers_name_their_issuer,
        clients_have_no_secret,
        requests_for_tokens_follow_the_rfc,
        a_client_ends_its_own_tokens_only,
        a_suspended_account_approves_nothing,
        a_registration_ends_if_it_is_not_used,
        a_document_describes_a_client,
        documents_are_fetched_for_people_only,
        registrations_keep_nothing,
    )
}


@pytest.mark.parametrize("line", CHECKLIST)
async def test_this_line_of_the_checklist_holds(world: World, line: str) -> None:
    await CHECKLIST[line](world)


async def test_an_account_has_so_many_documents_fetched_a_minute_as_it_may_send_requests() -> None:
    async with open_world(TIERS__CLAIMED__PER_MINUTE=3) as world:
        ann = world.session(ANN)
        statuses = [(await Program(world, f"{URL}?{number}").opened(ann)).status for number in range(5)]
        assert (statuses, len(world.documents.fetched)) == ([400] * 3 + [429] * 2, 3)
        assert (await Program(world, URL).opened(world.session("bea@example.com"))).status == 400
