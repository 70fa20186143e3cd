"""Wire models of the Model Context Protocol: JSON-RPC 2.0 over HTTP, revisions 2025-03-26 to 2026-07-28.

Requests ignore unknown members, as the protocol asks. Results have only what this service uses of the protocol: tools.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, StrictInt, StrictStr

INITIALIZED: Final = ("2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions whose clients send `initialize` first, oldest first."""
STATELESS: Final = ("2026-07-28",)
"""Revisions whose requests carry everything in `_meta`."""
SUPPORTED: Final = (*reversed(STATELESS), *reversed(INITIALIZED))

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022

META: Final = "io.modelcontextprotocol/"
VERSION_KEY: Final = f"{META}protocolVersion"

Id = StrictInt | StrictStr


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


# Requests.


class Message(_Wire):
    """A request, or a notification if it has no `id`."""

    jsonrpc: Literal["2.0"]
    method: StrictStr
    id: Id | None = None  # None means absent: an explicit null is not valid
    params: dict[str, Any] | None = None

    @property
    def notifies(self) -> bool:
        return "id" not in self.model_fields_set


class InitializeParams(_Wire):
    protocolVersion: StrictStr
    capabilities: dict[str, Any]
    clientInfo: dict[str, Any]


class ListParams(_Wire):
    """`cursor` is never valid, because the list has one page."""

    cursor: None = None


class CallParams(_Wire):
    name: StrictStr
    arguments: dict[str, Any] | None = None


class RequestMeta(_Wire):
    """The `_meta` of each request of a stateless revision."""

    version: Annotated[StrictStr, Field(alias=VERSION_KEY)]
    capabilities: Annotated[dict[str, Any], Field(alias=f"{META}clientCapabilities")]


# Results. Absent fields are left out.


class Implementation(_Wire):
    """The name and version of this service."""

    name: str
    title: str
    version: str


class ResultMeta(_Wire):
    """`server` is of stateless revisions. `thirdPartyContent`: the texts of the result are written by third parties."""

    server: Annotated[Implementation | None, Field(serialization_alias=f"{META}serverInfo")] = None
    thirdPartyContent: Literal[True] | None = None


class Result(_Wire):
    """`resultType` is of stateless revisions."""

    resultType: Literal["complete"] | None = None
    meta: Annotated[ResultMeta | None, Field(serialization_alias="_meta")] = None


class CacheableResult(Result):
    """A result that clients may keep for `ttlMs`, in stateless revisions."""

    ttlMs: int | None = None
    cacheScope: Literal["public"] | None = None


class ToolCapability(_Wire):
    """No member: the tools change only with a new release."""


class Capabilities(_Wire):
    tools: ToolCapability = ToolCapability()


class InitializeResult(Result):
    protocolVersion: str
    capabilities: Capabilities = Capabilities()
    serverInfo: Implementation
    instructions: str


class DiscoverResult(CacheableResult):
    supportedVersions: tuple[str, ...] = SUPPORTED
    capabilities: Capabilities = Capabilities()
    instructions: str


class ToolAnnotations(_Wire):
    """`openWorldHint`: the texts of results are written by third parties."""

    readOnlyHint: bool
    openWorldHint: bool


class Tool(_Wire):
    name: str
    title: str
    description: str
    inputSchema: dict[str, Any]
    outputSchema: dict[str, Any]
    annotations: ToolAnnotations


class ListToolsResult(CacheableResult):
    tools: tuple[Tool, ...]


class TextContent(_Wire):
    type: Literal["text"] = "text"
    text: str


class CallToolResult(Result):
    """`structuredContent` fits the tool's `outputSchema`. An error has none, because clients would hold it to that schema."""

    content: tuple[TextContent, ...]
    structuredContent: Any = None
    isError: bool


class Response(_Wire):
    jsonrpc: Literal["2.0"] = "2.0"
    id: Id
    result: SerializeAsAny[Result]


class Error(_Wire):
    """`code` is one of the protocol's, or an HTTP status. `data` of the latter is the error body of the API."""

    code: int
    message: str
    data: dict[str, Any] | None = None


class ErrorResponse(_Wire):
    """`id` is null if the request had none that could be read."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: Id | None
    error: Error
