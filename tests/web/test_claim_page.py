"""The claim page: the elements that its script needs, and its forms without the script."""

from urllib.parse import urlencode

from service.web.static_files import static_url
from tests.api.asgi import Response
from tests.api.world import World, away
from tests.web.markup import Markup, faults_of, parsed
from tests.web.visitors import Visitor

ANN = "ann@example.com"
FORM = "/claim/form"
USED_BY_SCRIPT = "code complete email sent-to start token token-field token-known token-other"
"""The ids of `claim.js`."""


async def _send(world: World, do: str, **fields: str) -> Response:
    return await Visitor(world).post(FORM, urlencode({"do": do, **fields}).encode())


async def _code_page(world: World, sent: Response) -> Response:
    """The page that asks for the code, after the form for a mail."""
    assert (sent.status, sent.header("location")) == (303, f"{FORM}?step=code")
    cookie = (sent.header("set-cookie") or "").partition(";")[0]
    return await world.client.get(f"{FORM}?step=code", headers={"Cookie": cookie, "Accept": "text/html"})


def _step(response: Response) -> str:
    """The visible part of the page."""
    html = response.body.decode()
    assert faults_of(html) == []
    parts = [
        each
        for each in parsed(html).all("form", "section")
        if each.attributes.get("id") in ("start", "complete", "done")
    ]
    [shown] = [each.attributes["id"] for each in parts if "hidden" not in each.attributes]
    return shown


def scripts_of(page: Markup) -> list[str]:
    return [script.attributes["src"] for script in page.scripts]


def _values(response: Response) -> dict[str, str]:
    inputs = parsed(response.body.decode()).all("input")
    # The hidden form has fields of the same names; the first of equal names is the filled one.
    values: dict[str, str] = {}
    for each in inputs:
        values[each.attributes["name"]] = values.get(each.attributes["name"]) or each.attributes.get("value", "")
    return values


async def test_the_script_finds_what_it_asks_for_in_both_steps(world: World) -> None:
    first = await Visitor(world).get("/claim")
    second = await _send(world, "enter", claimToken="clm_anything", email=ANN)
    for response, step in ((first, "start"), (second, "complete")):
        page = parsed(response.body.decode())
        assert set(USED_BY_SCRIPT.split()) <= set(page.ids)
        assert scripts_of(page) == [static_url("claim.js")]
        assert _step(response) == step
        forms = [each for each in page.all("input") if each.attributes["name"] in ("claimToken", "email")]
        assert len(forms) == 4, "the script fills both forms"


async def test_a_key_is_claimed_by_forms_alone(world: World) -> None:
    minted = await world.services.keys.mint()
    sent = await _send(
        world, "start", claimToken=f" https://catalog.test/claim#{minted.claim_token} ", email=f" {ANN} "
    )
    shown = await _code_page(world, sent)
    assert (shown.status, _step(shown)) == (200, "complete")
    assert shown.header("cache-control") == "no-store"
    assert _values(shown)["claimToken"] == minted.claim_token
    assert _values(shown)["email"] == ANN
    code = await world.emailed_code(ANN)
    spaced = f" {code[:3]}\u200b-{code[3:]}"
    claimed = await _send(world, "complete", claimToken=minted.claim_token, email=ANN, code=spaced)
    assert (claimed.header("set-cookie") or "").startswith("__Host-claim-form=; Path=/; Max-Age=0")
    assert (claimed.status, claimed.header("location")) == (303, f"{FORM}?notice=claimed")
    done = await Visitor(world).get(f"{FORM}?notice=claimed")
    assert _step(done) == "done"
    assert scripts_of(parsed(done.body.decode())) == []
    assert {"/sign-in?next=%2Fdashboard", "/dashboard"} <= {
        each.attributes["href"] for each in parsed(done.body.decode()).all("a")
    }
    assert (await world.client.get("/api/v1/usage", minted.api_key)).json["email"] == ANN


async def test_a_wrong_code_keeps_the_token_and_the_email(world: World) -> None:
    token = (await world.services.keys.mint()).claim_token
    await _send(world, "start", claimToken=token, email=ANN)
    refused = await _send(world, "complete", claimToken=token, email=ANN, code="000000")
    assert (refused.status, _step(refused)) == (400, "complete")
    assert _values(refused)["claimToken"] == token
    assert _values(refused)["email"] == ANN


async def test_who_has_a_code_enters_it_and_who_mistyped_goes_back(world: World) -> None:
    entered = await _send(world, "enter", claimToken="clm_anything", email=ANN)
    assert _step(entered) == "complete"
    changed = await _send(world, "change", claimToken="clm_anything", email=ANN)
    assert _step(changed) == "start"
    assert _values(changed)["claimToken"] == "clm_anything"
    assert world.postbox.mails == []


async def test_a_second_mail_that_is_refused_keeps_the_form_for_the_code_of_the_first(world: World) -> None:
    token = (await world.services.keys.mint()).claim_token
    sent = await _send(world, "start", claimToken=token, email=ANN)
    shown = await _code_page(world, sent)
    assert "You can ask for another code in 1 minute." in parsed(shown.body.decode()).text
    refused = await _send(world, "again", claimToken=token, email=ANN)
    assert (refused.status, _step(refused), _values(refused)["claimToken"]) == (429, "complete", token)
    await world.pass_seconds(61)
    assert _step(await _code_page(world, await _send(world, "again", claimToken=token, email=ANN))) == "complete"
    await world.settled()
    assert len(world.postbox.mails) == 2


async def test_without_the_database_the_forms_keep_what_was_typed(world: World) -> None:
    token = (await world.services.keys.mint()).claim_token
    world.memory.before = away
    refused = await _send(world, "start", claimToken=token, email=ANN)
    assert (refused.status, _step(refused)) == (503, "start")
    assert _values(refused)["claimToken"] == token


async def test_what_was_typed_is_text(world: World) -> None:
    typed = '"><script>alert(1)</script>'
    refused = await _send(world, "start", claimToken=typed, email=typed)
    assert _step(refused) == "start"
    assert "<script>alert" not in refused.body.decode()
    assert _values(refused)["claimToken"] == typed
