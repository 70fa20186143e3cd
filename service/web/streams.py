"""Responses whose body is made while it is sent."""

from quart import Response

from service.api.messages import Answer, note, trace
from service.api.refusals import failure
from service.http.asgi import Send


class StreamedResponse(Response):
    """A response of pieces. It has no limit for the whole, because each piece has its own, and so has sending it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(b"", status=answer.status, content_type=answer.content_type)
        assert answer.pieces is not None
        self.pieces = answer.pieces
        self.timeout = None
        del self.headers["content-length"]


async def send_stream(response: StreamedResponse, method: str, send: Send) -> None:
    """Send the pieces as they are made. If one fails, the response is cut off, so that it does not look complete."""
    headers = [(name.lower().encode(), value.encode()) for name, value in response.headers]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    if method != "HEAD":
        try:
            async for piece in response.pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except Exception as error:
            notes = trace.get()
            note("refusal", str(failure("a stream" if notes is None else notes.operation, error).code))
            return
    await send({"type": "http.response.body", "body": b"", "more_body": False})
