"""Tools of the Model Context Protocol: the same answers, limits, charges and refusals as the operations behind them."""

import json
import re

import jsonschema_rs
import pytest
import trio

from actors.shared.credentials import ENTROPY_BYTES, Kind, new_key
from actors.values import Overloaded
from service.api.mcp.endpoint import SERVER
from service.api.mcp.tools import THIRD_PARTY, definitions, tools_of
from service.api.operations import OPERATIONS
from service.api.operations.catalog import MAX_RELATED
from tests.api.agents import TOOLS, call, message, not_called, refused, send, stateless, url
from tests.api.callers import CALLERS, Headers, cookie
from tests.api.conformity import BASE_URL
from tests.api.sponsors import sponsor
from tests.api.world import World, away, broken, fails_once, open_world
from tests.architecture import ROOT
from tests.contract import CONTRACT
from tests.fakes import Script

NO_THIRD_PARTY = {"get_usage", "list_slot_prices", "list_slot_weeks"}
"""Tools whose texts are written by the service and its operator."""
GENEROUS = {"KEYLESS__PER_MINUTE": 10_000, "KEYS__UNKNOWN_PER_MINUTE": 10_000, "PAGES__PER_MINUTE": 10_000}


def test_tools_are_the_operations_of_the_table_that_have_a_name_for_it() -> None:
    tools = tools_of(OPERATIONS)
    assert {name: operation.path for name, operation in tools.items()} == {
        name: path for name, (path, _) in TOOLS.items()
    }
    assert [tool.name for tool in definitions(tools, BASE_URL)] == list(tools)


def test_the_document_names_each_tool_and_its_operation() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| `GET ([^`]+)`", (ROOT / "docs/agents.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert dict(rows) == {name: path for name, (path, _) in TOOLS.items()}


def test_the_arguments_of_a_tool_are_the_parameters_of_its_operation() -> None:
    for tool in definitions(tools_of(OPERATIONS), BASE_URL):
        operation = tools_of(OPERATIONS)[tool.name]
        properties = tool.inputSchema["properties"]
        query = set() if operation.query is None else set(operation.query.model_fields)
        assert properties.keys() == {*operation.path_names, *query} - {"format"}, "a tool returns no file"
        assert tool.inputSchema.get("required", []) == list(operation.path_names)
        for schema in (tool.inputSchema, tool.outputSchema):
            jsonschema_rs.meta.validate(schema)
            assert schema["type"] == "object"
        for schema in properties.values():
            assert isinstance(schema["type"], str), "one type each, which every client understands"
        jsonschema_rs.validator_for(tool.inputSchema).validate(TOOLS[tool.name][1])


async def test_the_list_of_tools_says_what_each_is_for(world: World) -> None:
    response = await send(world, message("tools/list"))
    tools = {tool["name"]: tool for tool in response.json["result"]["tools"]}
    assert tools.keys() == TOOLS.keys()
    for tool in tools.values():
        own = tool["name"] in NO_THIRD_PARTY
        assert tool["annotations"] == {"readOnlyHint": True, "openWorldHint": not own}
        assert (THIRD_PARTY in tool["description"]) is not own, "entries and ads are written by others"
    assert len(response.body) < 50_000


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_tool_answers_what_its_operation_answers(world: World, tool: str) -> None:
    person = sponsor(world)
    key, booking_id = person.key, await person.buys() if "sponsors" in TOOLS[tool][0] else ""
    arguments = {name: booking_id if name == "id" else value for name, value in TOOLS[tool][1].items()}
    before = world.tenant_of(key).month_used
    result = await call(world, tool, arguments, key)
    structured = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == structured
    [schema] = [each.outputSchema for each in definitions(tools_of(OPERATIONS), BASE_URL) if each.name == tool]
    jsonschema_rs.validator_for(schema).validate(structured)
    if (added := tools_of(OPERATIONS)[tool].tool_list) is not None:
        assert added.name in schema["required"]
        del structured[added.name]
    direct = (await world.client.get(url(tool, arguments), key)).json
    if tool != "get_usage":
        assert world.tenant_of(key).month_used == before + 2, "each counts"
    assert result["isError"] is False
    assert result.get("_meta", {}).get("thirdPartyContent", False) is (tool not in NO_THIRD_PARTY)
    assert structured | {"requestsUsed": 0} == direct | {"requestsUsed": 0}


@pytest.mark.parametrize(
    ("tool", "slug", "name"), [("get_use_case", "case-04", "title"), ("get_bot", "bot-00", "name")]
)
async def test_a_tool_that_gets_an_entry_names_related_ones(world: World, tool: str, slug: str, name: str) -> None:
    related = (await call(world, tool, {"slug": slug}))["structuredContent"]["related"]
    assert 0 < len({each["slug"] for each in related} - {slug}) == len(related) <= MAX_RELATED
    for each in related:
        entry = (await call(world, tool, {"slug": each["slug"]}))["structuredContent"]
        assert each == {"slug": entry["slug"], "title": entry[name]}


@pytest.mark.parametrize("error", [Overloaded(), trio.TooSlowError()])
async def test_an_entry_is_there_without_related_ones_while_too_many_searches_wait(
    world: World, error: Exception
) -> None:
    world.searching.before = Script([error] * 2)
    told = (await call(world, "get_use_case", {"slug": "case-04"}))["structuredContent"]
    assert (told["slug"], told["related"]) == ("case-04", [])
    assert (await world.client.get("/usecases/case-04")).status == 200


async def test_every_caller_is_refused_as_by_the_operation() -> None:
    async with open_world(**GENEROUS) as world:
        for tool in {row.policy: row.tool for row in CONTRACT.values() if row.tool}.values():
            arguments = TOOLS[tool][1]
            for name, caller in CALLERS.items():
                # Each way has a caller of its own, because some have one request left.
                direct = await world.client.get(url(tool, arguments), headers=_keys(caller(world)))
                keys = _keys(caller(world))
                if direct.status == 200:
                    result = await call(world, tool, arguments, **keys)
                    assert result["isError"] is False, f"{tool} by {name}: {result}"
                else:
                    assert await not_called(world, tool, arguments, **keys) == direct.json, f"{tool} by {name}"


def _keys(headers: Headers | str | None) -> Headers:
    """The headers of a caller that is no browser."""
    return {"Authorization": headers} if isinstance(headers, str) else {}


async def test_a_browser_session_is_no_key(world: World) -> None:
    headers = cookie(world.session("ann@example.com")) | {"Origin": BASE_URL, "Sec-Fetch-Site": "same-origin"}
    assert (await not_called(world, "get_usage", **headers))["error"] == "unauthorized"


async def test_a_keyless_agent_shares_the_limit_of_keyless_readers() -> None:
    async with open_world(KEYLESS__PER_MINUTE=2) as world:
        await call(world, "search_bots")
        await world.client.get("/api/v1/bots")
        body = refused(await call(world, "get_bot", {"slug": "bot-00"}))
        assert body["error"] == "rate_limited"
        assert body["retryAfter"] > 0
        assert (await send(world, message("ping"))).status == 200


async def test_a_call_tells_the_limits_of_its_key(world: World) -> None:
    params = {"name": "search_bots"}
    response = await send(world, message("tools/call", params), world.key())
    direct = await world.client.get("/api/v1/bots", world.key())
    assert response.header("ratelimit") == direct.header("ratelimit")
    assert response.header("ratelimit-policy") == direct.header("ratelimit-policy")
    assert response.header("cache-control") == "no-store"


async def test_a_header_that_an_operation_adds_is_told_as_text(world: World) -> None:
    names = tools_of(OPERATIONS)["search_use_cases"].headers
    direct = await world.client.get("/api/v1/usecases?q=case+unheard")
    result = await call(world, "search_use_cases", {"q": "case unheard"})
    told = [f"{name}: {direct.header(name.lower())}" for name in names if direct.header(name.lower()) is not None]
    assert [content["text"] for content in result["content"][1:]] == told


async def test_a_call_during_an_outage_is_refused_and_refunded(world: World) -> None:
    key = world.key()
    await call(world, "search_bots", None, key)
    fails_once(world.memory, away)
    assert refused(await call(world, "get_usage", None, key))["error"] == "service_unavailable"
    assert world.tenant_of(key).lifetime_used == 1


async def test_a_bug_is_told_without_its_words(world: World, caplog: pytest.LogCaptureFixture) -> None:
    fails_once(world.memory, broken)
    with caplog.at_level("CRITICAL"):
        body = refused(await call(world, "get_usage", None, world.key()))
    assert body["error"] == "internal_error"
    assert "bug" not in body["message"]


async def test_a_condition_of_the_envelope_does_not_reach_the_operation(world: World) -> None:
    etag = (await world.client.get("/api/v1/bots")).header("etag")
    assert etag is not None
    assert (await call(world, "search_bots", None, If_None_Match=etag))["structuredContent"]["data"]


async def test_a_call_is_one_line_of_the_log_as_its_operation(world: World, caplog: pytest.LogCaptureFixture) -> None:
    key = world.key()
    with caplog.at_level("INFO", "service.access"):
        await call(world, "get_bot", {"slug": "nobody"}, key)
        await call(world, "get_bot", {"slug": "bot-00"}, key)
        await send(world, message("ping"))
        await send(world, message("nonsense"))
    lines = [vars(record) for record in caplog.records if record.name == "service.access"]
    told = [(line["operation"], line["status"], line["refusal"], line["caller"]) for line in lines]
    assert told == [
        ("getBot", 404, "not_found", key[:12]),
        ("getBot", 200, "-", key[:12]),
        ("mcp", 200, "-", "-"),
        ("mcp", 404, "not_found", "-"),
    ]
    page = (await world.client.get("/metrics")).body.decode()
    assert re.search(r'^\w+\{[^}]*operation="getBot"[^}]*status="404"[^}]*\} 1', page, re.MULTILINE), page


@pytest.mark.parametrize(
    ("written", "taken"),
    [("2", True), ("2.0", True), ("2e0", True), ("20e-1", True), ("2.0000000000000000001", False), ("2.5", False)],
)
async def test_an_argument_is_a_whole_number_if_its_text_is_one(world: World, written: str, taken: bool) -> None:
    sent = message("tools/call", {"name": "search_bots", "arguments": {"limit": "LIMIT"}})
    body = json.dumps(sent).replace('"LIMIT"', written).encode()
    response = await world.client.post("/mcp", body=body, headers={"Content-Type": "application/json"})
    result = response.json["result"]
    assert result.get("isError", False) is not taken, result
    assert not taken or len(result["structuredContent"]["data"]) == 2


NO_SLUGS: tuple[object, ...] = (True, ["bot-00"], {}, 1.5, 10**30)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *((arguments, "slug: is required") for arguments in ({"slug": None}, {})),
        *(({"slug": slug}, "slug: must be a string or a whole number") for slug in NO_SLUGS),
        ({"slug": "bot-00", "slg": 1}, "slg: is not an argument of this tool, which has slug"),
        ({"slug": "bot-00", "x" * 1_000: 1}, "x" * 100 + ": is not an argument of this tool"),
        ({"slug": "bot-00", **{f"a{number}": 1 for number in range(500)}}, "and 495 more"),
    ],
)
async def test_wrong_arguments_are_an_error_that_says_what_to_correct(
    world: World, arguments: dict[str, object], words: str
) -> None:
    key = world.key()
    body = refused(await call(world, "get_bot", arguments, key))
    assert body["error"] == "invalid_request"
    assert words in body["message"]
    assert body["fields"][0]["message"] in body["message"]
    assert len(body["message"]) < 1_000
    assert world.tenant_of(key).lifetime_used == 0


@pytest.mark.parametrize("limit", [0, 101, -1, "many", 10**17])
async def test_the_operation_checks_the_values_of_arguments(world: World, limit: object) -> None:
    direct = await world.client.get(f"/api/v1/bots?limit={limit}")
    assert refused(await call(world, "search_bots", {"limit": limit})) == direct.json


async def test_numbers_may_be_written_in_any_way_of_json_and_a_cursor_leads_on(world: World) -> None:
    for limit in (3, 3.0, "3"):
        first = (await call(world, "search_bots", {"limit": limit}))["structuredContent"]
        assert len(first["data"]) == 3
    onward = await call(world, "search_bots", {"limit": 3, "cursor": first["nextCursor"]})
    assert not [each for each in onward["structuredContent"]["data"] if each in first["data"]]


@pytest.mark.parametrize("q", ["", "a&limit=1", "a=b;c", "ä ö", "100 %", "+", "#", "a" * 200])
async def test_text_reaches_the_search_as_it_is(world: World, q: str) -> None:
    result = await call(world, "search_use_cases", {"q": q, "limit": 100})
    direct = await world.client.get("/api/v1/usecases?limit=100&q=" + "".join(f"%{byte:02x}" for byte in q.encode()))
    assert result["structuredContent"] == direct.json


async def test_calls_count_as_pages_only_with_wrong_arguments() -> None:
    async with open_world(PAGES__PER_MINUTE=2) as world:
        for _ in range(5):
            await call(world, "search_bots")
        for _ in range(2):
            assert refused(await call(world, "get_bot"))["error"] == "invalid_request"
        response = await send(world, message("tools/call", {"name": "search_bots"}))
        assert (response.status, response.json["error"]["data"]["error"]) == (429, "rate_limited")


@pytest.mark.parametrize("key", [None, "nonsense", new_key(Kind.USER, b"an unknown key".ljust(ENTROPY_BYTES))])
async def test_calls_that_no_limit_of_their_operation_counts_are_pages(key: str | None) -> None:
    async with open_world(PAGES__PER_MINUTE=3, KEYLESS__PER_MINUTE=1) as world:
        await world.client.get("/api/v1/bots")
        for _ in range(3):
            assert (await not_called(world, "search_bots", {}, key))["error"] in ("rate_limited", "invalid_api_key")
        response = await send(world, message("tools/call", {"name": "search_bots"}), key)
        assert (response.status, response.json["error"]["data"]["error"]) == (429, "rate_limited")


async def test_calls_that_a_limit_of_their_key_counts_are_no_pages() -> None:
    async with open_world(PAGES__PER_MINUTE=2, TIERS__ANONYMOUS__USECASE_READS=1) as world:
        key = world.key()
        await call(world, "search_use_cases", {}, key)
        for _ in range(4):
            assert refused(await call(world, "search_use_cases", {}, key))["error"] == "claim_required"


async def test_a_stateless_call_says_who_answers(world: World) -> None:
    told, headers = stateless("tools/call", {"name": "get_bot", "arguments": {"slug": "bot-00"}})
    response = await send(world, told, **headers)
    assert response.status == 200
    result = response.json["result"]
    assert result["structuredContent"]["slug"] == "bot-00"
    assert result["resultType"] == "complete"
    own = {"io.modelcontextprotocol/serverInfo": SERVER.model_dump()}
    assert result["_meta"] == own | {"thirdPartyContent": True}
