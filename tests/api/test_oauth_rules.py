"""The rules of what clients of OAuth send, by table: redirect URIs, ids, metadata documents, requests (ADR 0109)."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from actors.times import DAY_MS
from actors.values import Refused, Scope
from service.api.oauth.clients import (
    LONGEST_ID,
    DescribedClient,
    RegisteredClients,
    described_client,
    is_document_url,
    name_of,
    refused_redirects,
)
from service.api.oauth.redirects import is_loopback, place_of, problem_of, source_of, with_parameters, without_port
from service.api.oauth.requests import Asked, AuthorizationRequest, checked, read, resource_of
from service.tokens.signing import TokenSigner
from tests.api.conformity import BASE_URL
from tests.api.oauth import CALLBACK, VERIFIER, challenge_of

GOOD_REDIRECTS = (
    "https://client.example.com/callback",
    "https://client.example.com",
    "https://client.example.com:8443/callback?tenant=1",
    "https://192.0.2.7/callback",
    "http://127.0.0.1:3000/callback",
    "http://[::1]:3000/callback",
    "http://localhost/callback",
    "cursor://anysphere.cursor-retrieval/oauth/callback",
    "vscode:callback",
    "com.example.app:/callback",
)
BAD_REDIRECTS = (
    "",
    "/callback",
    "callback",
    "//client.example.com/callback",
    "https://",
    "https:///callback",
    "https:client.example.com",
    "http://client.example.com/callback",
    "http://127.0.0.1.example.com/",
    "http://localhost.example.com/",
    "http://127.1/",
    "http://2130706433/",
    "https://user@client.example.com/",
    "https://user:secret@client.example.com/",
    "https://client.example.com\\@evil.example/",
    "https://client.example.com/#fragment",
    "https://client.example.com/ callback",
    "https://client.example.com/\ncallback",
    "https://client.example.com/\u202e",
    "https://client.example.com:0/",
    "https://client.example.com:99999/",
    "https://cl\u0456ent.example.com/",
    "https://*.example.com/",
    f"https://client.example.com/{'x' * 1_000}",
    *("javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "blob:https://x/1"),
    *(
        "about:blank",
        "vbscript:x",
        "ws://x/",
        "wss://x/",
        "ftp://x/",
        "view-source:https://x/",
        "filesystem:https://x/",
    ),
    *("intent://x/", "ms-msdt:/id", "search-ms:query", "mailto:a@example.com", "tel:1"),
)


@pytest.mark.parametrize("uri", GOOD_REDIRECTS)
def test_these_redirect_uris_may_be_registered(uri: str) -> None:
    assert problem_of(uri) is None


@pytest.mark.parametrize("uri", BAD_REDIRECTS)
def test_no_client_may_have_such_a_redirect_uri(uri: str) -> None:
    assert problem_of(uri) is not None


@pytest.mark.parametrize(
    ("asked", "registered", "same"),
    [
        ("http://127.0.0.1:50123/callback", "http://127.0.0.1:8123/callback", True),
        ("http://localhost:50123/callback", "http://localhost/callback", True),
        ("http://[::1]:50123/callback", "http://[::1]/callback", True),
        ("http://127.0.0.1:50123/", "http://127.0.0.1", True),
        ("http://127.0.0.1:50123?a=1", "http://127.0.0.1/?a=1", True),
        ("https://client.example.com/", "https://client.example.com", False),
        ("http://localhost:1/callback", "http://127.0.0.1:1/callback", False),
        ("http://127.0.0.1:1/other", "http://127.0.0.1:1/callback", False),
        ("https://client.example.com:8443/callback", "https://client.example.com/callback", False),
        ("https://client.example.com/callback/", "https://client.example.com/callback", False),
        ("https://client.example.com/callback?a=1", "https://client.example.com/callback", False),
        ("https://client.example.com/a/../callback", "https://client.example.com/callback", False),
        ("https://client.example.com/%63allback", "https://client.example.com/callback", False),
        ("https://CLIENT.example.com/callback", "https://client.example.com/callback", False),
        ("https://sub.client.example.com/callback", "https://client.example.com/callback", False),
        ("cursor://a/b", "cursor://a/c", False),
    ],
)
def test_redirect_uris_are_compared_by_character_but_for_ports_of_the_own_machine(
    asked: str, registered: str, same: bool
) -> None:
    assert (without_port(asked) == without_port(registered)) is same
    client = RegisteredClients(SIGNER).read(RegisteredClients(SIGNER).register("A name", [registered], 0, 0))
    assert client is not None
    assert client.allows(asked) is same


@pytest.mark.parametrize(
    ("uri", "place", "source", "local"),
    [
        ("https://client.example.com/a?b=c", "client.example.com", "https://client.example.com", False),
        ("https://Client.example.com:8443", "client.example.com:8443", "https://client.example.com:8443", False),
        ("http://127.0.0.1:3000/", "127.0.0.1:3000", "http://127.0.0.1:3000", True),
        ("http://[::1]:3000/", "[::1]:3000", "http:", True),
        ("com.example.app:/callback", "com.example.app:", "com.example.app:", False),
        ("cursor://https://bank.example/", "cursor:", "cursor:", False),
    ],
)
def test_the_place_of_a_redirect_uri_is_where_browsers_go(uri: str, place: str, source: str, local: bool) -> None:
    assert (place_of(uri), source_of(uri), is_loopback(uri)) == (place, source, local)


@pytest.mark.parametrize(
    ("uri", "answered"),
    [
        (CALLBACK, f"{CALLBACK}?code=a+b"),
        (f"{CALLBACK}?tenant=1", f"{CALLBACK}?tenant=1&code=a+b"),
        ("vscode:callback", "vscode:callback?code=a+b"),
    ],
)
def test_a_response_keeps_the_query_of_the_redirect_uri(uri: str, answered: str) -> None:
    assert with_parameters(uri, {"code": "a b", "state": None}) == answered


SIGNER = TokenSigner(b"a key of thirty-two bytes or more")


def test_the_id_of_a_client_is_what_was_registered() -> None:
    clients = RegisteredClients(SIGNER)
    client_id = clients.register("An agent", GOOD_REDIRECTS[:5], 20_775 * DAY_MS + 1, 7)
    found = clients.read(client_id)
    assert found is not None
    assert (found.name, found.issued_ms, len(found.redirects)) == ("An agent", 20_775 * DAY_MS, 5)
    assert all(map(found.allows, GOOD_REDIRECTS[:5]))
    longest = clients.register(
        "\U0001f680" * 64, [f"https://c{number}.example.com/" for number in range(10)], 10**13, 2**48
    )
    assert len(longest) < LONGEST_ID / 2, "an address keeps it through a sign-in"
    assert clients.register("An agent", GOOD_REDIRECTS[:5], 20_775 * DAY_MS + 1, 8) != client_id
    other = RegisteredClients(TokenSigner(b"another key of thirty-two bytes"))
    link = f"cli_{SIGNER.sign('end', ('key', 'key_1', 'a label', 'ann@example.com', 0))}"
    for wrong in ("", "cli_", "cli_x", client_id[:-1], client_id + "A", client_id.removeprefix("cli_"), link):
        assert clients.read(wrong) is None, wrong
    assert other.read(client_id) is None


@pytest.mark.parametrize(
    ("uris", "code"),
    [
        (None, "invalid_client_metadata"),
        ("https://client.example.com/", "invalid_client_metadata"),
        ([], "invalid_client_metadata"),
        ([f"https://c{number}.example.com/" for number in range(11)], "invalid_client_metadata"),
        ([f"https://c{number}.example.com/" for number in range(10)], None),
        ([f"https://c{number}.example.com/{'x' * 500}" for number in range(2)], "invalid_client_metadata"),
        ([1], "invalid_redirect_uri"),
        ([CALLBACK, "javascript:alert(1)"], "invalid_redirect_uri"),
        ([CALLBACK], None),
    ],
)
def test_a_registration_has_a_few_redirect_uris(uris: Any, code: str | None) -> None:
    refused = refused_redirects(uris)
    assert (None if refused is None else str(refused.code)) == code


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("An agent", "An agent"),
        ("Агент", "Агент"),
        ("x" * 64, "x" * 64),
        *(
            (wrong, "a.example")
            for wrong in (None, 7, "", " ", "x" * 65, "two\nlines", "a\u202eb", "a\u200bb", " a", "\x1b[31m")
        ),
    ],
)
def test_the_name_of_a_client_is_one_line_that_can_be_read_or_else_a_host(given: object, name: str) -> None:
    assert name_of(given, "a.example") == name


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://client.example.com/metadata.json", True),
        ("https://client.example.com:8443/a/b?version=2", True),
        ("https://client.example.com/", True),
        ("https://client.example.com", False),
        ("http://client.example.com/metadata.json", False),
        ("https://client.example.com/metadata.json#a", False),
        ("https://user@client.example.com/metadata.json", False),
        ("https://client.example.com/a/../metadata.json", False),
        ("https://client.example.com/a/%2e%2E/metadata.json", False),
        ("https://client.example.com/./metadata.json", False),
        ("https://client.example.com/a b", False),
        ("https://client.example.com\\@169.254.169.254/", False),
        ("https://[::1]/metadata.json", False),
        ("HTTPS://client.example.com/metadata.json", False),
        (f"https://client.example.com/{'x' * 2_000}", False),
        ("an-id-of-another-service", False),
    ],
)
def test_the_address_of_a_metadata_document_can_be_read_in_one_way(url: str, taken: bool) -> None:
    assert is_document_url(url) is taken


URL = "https://client.example.com/metadata.json"
DOCUMENT = {"client_id": URL, "client_name": "A client", "redirect_uris": [CALLBACK, "javascript:alert(1)"]}
KEYED = {"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://client.example.com/jwks.json"}


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (DOCUMENT, "A client"),
        (DOCUMENT | {"token_endpoint_auth_method": "none"}, "A client"),
        ({**DOCUMENT, "client_name": ["a"]}, "client.example.com"),
        (DOCUMENT | {"client_id": f"{URL}/"}, None),
        (DOCUMENT | {"client_id": None}, None),
        (DOCUMENT | KEYED, None),
        (DOCUMENT | {"token_endpoint_auth_methods_supported": ["none"]}, "A client"),
        (DOCUMENT | KEYED | {"token_endpoint_auth_methods_supported": ["none", "private_key_jwt"]}, "A client"),
        (DOCUMENT | KEYED | {"token_endpoint_auth_methods_supported": ["private_key_jwt"]}, None),
        (DOCUMENT | KEYED | {"token_endpoint_auth_methods_supported": "none"}, None),
        (DOCUMENT | KEYED | {"token_endpoint_auth_methods_supported": [["none"]]}, None),
        (DOCUMENT | {"client_secret": "a secret"}, None),
        (DOCUMENT | {"redirect_uris": CALLBACK}, None),
        (DOCUMENT | {"redirect_uris": [7]}, None),
        ([DOCUMENT], None),
        ("a text", None),
    ],
)
def test_a_metadata_document_describes_a_public_client_at_its_own_address(document: Any, name: str | None) -> None:
    found = described_client(URL, json.dumps(document).encode())
    if name is None:
        assert isinstance(found, str)
        return
    assert isinstance(found, DescribedClient)
    assert found.name == name
    assert found.allows(CALLBACK.replace("8123", "9"))
    assert not found.allows("javascript:alert(1)"), "not even if the document has it"
    assert not found.allows("https://client.example.com/callback")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 5_000, b"nonsense"])
def test_a_body_that_is_no_document_describes_nobody(body: bytes) -> None:
    assert described_client(URL, body) == "it is not JSON"


ASKED = {
    "response_type": "code",
    "client_id": URL,
    "redirect_uri": CALLBACK,
    "state": "a state",
    "code_challenge": challenge_of(VERIFIER),
    "code_challenge_method": "S256",
}


def outcome(*more: tuple[str, str], **changed: str | None) -> str:
    """What becomes of a request: `page` if nobody can be told, the code of an error for the client, or `valid`."""
    parameters = [(name, value) for name, value in (ASKED | changed).items() if value is not None]
    asked = read(urlencode([*parameters, *more]))
    if isinstance(asked, Refused):
        return "page"
    result = checked(asked, BASE_URL)
    return str(result.code) if isinstance(result, Refused) else "valid"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "valid"),
        ({"state": None}, "valid"),
        ({"scope": "library:read sponsor:read"}, "valid"),
        ({"scope": "library:read offline_access"}, "valid"),
        ({"scope": "openid email profile"}, "valid"),
        ({"scope": "of-the-client"}, "valid"),
        ({"resource": BASE_URL}, "valid"),
        ({"resource": f"{BASE_URL}/mcp/"}, "valid"),
        ({"response_mode": "query", "prompt": "consent", "nonce": "n", "unknown": "x"}, "valid"),
        ({"scope": "", "resource": "", "response_mode": ""}, "valid"),
        ({"client_id": None}, "page"),
        ({"client_id": ""}, "page"),
        ({"client_id": "x" * 2_001}, "page"),
        ({"redirect_uri": None}, "page"),
        ({"redirect_uri": "javascript:alert(1)"}, "page"),
        ({"redirect_uri": "/oauth/authorize"}, "page"),
        ({"state": "x" * 1_001}, "page"),
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code id_token"}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "x" * 42}, "invalid_request"),
        ({"code_challenge": "x" * 44}, "invalid_request"),
        ({"code_challenge": "+" * 43}, "invalid_request"),
        ({"scope": "library:read admin:write"}, "invalid_scope"),
        ({"scope": "openid sponsor:write"}, "invalid_scope"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"resource": f"{BASE_URL}/other"}, "invalid_target"),
        ({"resource": f"{BASE_URL}.evil.example/mcp"}, "invalid_target"),
    ],
)
def test_a_request_is_valid_or_the_right_party_learns_what_is_wrong(changed: dict[str, str], expected: str) -> None:
    assert outcome(**changed) == expected


@pytest.mark.parametrize("name", [*ASKED, "unknown"])
def test_no_parameter_may_be_given_twice(name: str) -> None:
    expected = "page" if name in ("client_id", "redirect_uri", "state") else "invalid_request"
    assert outcome((name, "another"), unknown="x") == expected


def test_a_resource_may_be_given_twice_if_it_is_one() -> None:
    assert outcome(("resource", f"{BASE_URL}/mcp"), ("resource", f"{BASE_URL}/mcp/")) == "valid"
    assert outcome(("resource", f"{BASE_URL}/mcp"), ("resource", BASE_URL)) == "invalid_target"


def test_a_request_asks_for_the_library_unless_it_says_more() -> None:
    def asked(**changed: str) -> AuthorizationRequest:
        found = read(urlencode(ASKED | changed))
        assert isinstance(found, Asked)
        result = checked(found, BASE_URL)
        assert isinstance(result, AuthorizationRequest)
        return result

    assert (asked().scopes, asked().resource) == ((Scope.LIBRARY_READ,), f"{BASE_URL}/mcp")
    both = asked(scope="sponsor:read  library:read sponsor:read", resource=f"{BASE_URL}/")
    assert (both.scopes, both.resource) == ((Scope.LIBRARY_READ, Scope.SPONSOR_READ), BASE_URL)
    assert len(both.challenge) == 32
    assert asked(scope="openid email profile").scopes == (Scope.LIBRARY_READ,)
    assert asked(scope="sponsor:read offline_access").scopes == (Scope.SPONSOR_READ,)


def test_the_host_of_a_resource_has_no_case() -> None:
    assert resource_of("HTTPS://Catalog.Test/mcp", BASE_URL) == f"{BASE_URL}/mcp"
    assert resource_of("https://catalog.test/MCP", BASE_URL) is None


@pytest.mark.parametrize("query", ["%", "a=%ff", "&".join(f"a{number}=1" for number in range(60)), "\udcff"])
def test_a_query_that_cannot_be_read_is_answered_by_a_page(query: str) -> None:
    assert isinstance(read(query), Refused)
