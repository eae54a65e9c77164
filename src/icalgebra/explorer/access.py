"""Who may call the explorer: the page that it served, on this machine, with requests of a sensible size.

A web page elsewhere can make a browser send requests to 127.0.0.1. Its Origin is not ours, and a name that it has
pointed at 127.0.0.1 is not our Host.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from icalgebra.explorer.limits import MAX_BODY

HOSTS = ("127.0.0.1", "localhost")
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
)


def refusal(path: str, host: str, origin: str, site: str) -> str:
    """Why a request may not pass; empty where it may."""
    if _name(f"//{host}") not in HOSTS:
        return "the explorer answers only requests to 127.0.0.1 or localhost"
    if origin and origin != f"http://{host}":
        return "the explorer answers only its own page"
    if site not in ("", "same-origin", "none") and path != "/":  # a link from another page may open the page itself
        return "the explorer answers only its own page"
    return ""


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


class Access:
    """ASGI middleware: Host, Origin and size of the body are checked before anything else happens."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        reason = refusal(
            scope["path"], headers.get("host", ""), headers.get("origin", ""), headers.get("sec-fetch-site", "")
        )
        if reason:
            await JSONResponse({"error": reason}, 403)(scope, receive, send)
            return
        body = await _body(receive) if scope["method"] == "POST" else b""
        if body is None:
            error = f"a request may have at most {MAX_BODY // 1024} KB; send a shorter sequence"
            await JSONResponse({"error": error}, 413)(scope, receive, send)
            return
        await self.app(scope, _replayed(body, receive), _with_headers(send))


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None as soon as it is too large."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once more, then whatever comes: the end of the connection."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


def _with_headers(send: Send) -> Send:
    async def send_message(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return send_message
