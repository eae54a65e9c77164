"""The server: FastAPI on the loopback interface. It writes no file and reads none by a name from a request.

It serves the page at once: whatever needs torch, which takes seconds to import, is imported with the first answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from icalgebra.errors import InputError
from icalgebra.explorer import contract as c
from icalgebra.explorer.access import Access
from icalgebra.explorer.page import content_security, read_static, served_page

if TYPE_CHECKING:
    from icalgebra.explorer.models import Library

TYPES = {"js": "text/javascript", "css": "text/css"}


def make_app(library: Callable[[], Library]) -> FastAPI:
    """library: gives the models, and may wait until they are loaded."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)  # its documentation pages load from a CDN
    app.add_middleware(Access)
    static, page = read_static(), served_page()
    security = {"Content-Security-Policy": content_security(page)}

    @app.get("/")
    def index() -> HTMLResponse:
        return HTMLResponse(page, headers=security)

    @app.get("/static/{name}")
    def file(name: str) -> Response:
        if name not in static:  # the page's own files, read once at the start
            return JSONResponse({"error": "no such file"}, 404)
        return Response(static[name], media_type=TYPES[name.rsplit(".", 1)[1]])

    @app.get("/api/start")
    def start() -> Response:
        models = library()
        from icalgebra.explorer.parts import start

        return _json(start(models))

    made: list[c.Example] = []  # on first demand: sampling them takes longer than showing the page

    @app.get("/api/examples")
    def examples() -> JSONResponse:
        models = library()
        from icalgebra.explorer.prepared import prepared

        if not made:
            made[:] = prepared(models)
        return JSONResponse([asdict(example) for example in made])

    for name, request in c.REQUESTS.items():
        app.post(f"/api/{name}")(_endpoint(library, name, request))

    @app.post("/api/reliance")
    def reliance(asked: c.SequenceRequest) -> StreamingResponse:
        models = library()
        from icalgebra.explorer.inside import reliance_steps

        steps = reliance_steps(models, asked.model, asked.text)
        first = next(steps)  # bad input is an error here, before the stream begins
        return StreamingResponse(_lines(first, steps), media_type="application/x-ndjson")

    @app.exception_handler(InputError)
    def bad_input(request: Request, error: InputError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    def bad_request(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": _sentence(error)}, 422)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> JSONResponse:
        words = "the request cannot be read" if error.status_code == 400 else str(error.detail)
        return JSONResponse({"error": words}, error.status_code)

    return app


def _endpoint(library: Callable[[], Library], name: str, request: type[c.Request]) -> Callable[..., Any]:
    def endpoint(asked: Any) -> Response:
        models = library()
        from icalgebra.explorer.parts import ANSWERS

        return _json(ANSWERS[name](models, asked))

    endpoint.__annotations__["asked"] = request  # FastAPI reads the type of the body here
    return endpoint


def _json(answer: Any) -> Response:
    return Response(json.dumps(asdict(answer), ensure_ascii=False), media_type="application/json")


def _lines(first: c.Reliance, rest: Iterator[c.Reliance]) -> Iterator[str]:
    """One line per step. The server stops asking for lines when the page goes away, and the work ends."""
    yield json.dumps(asdict(first)) + "\n"
    for step in rest:
        yield json.dumps(asdict(step)) + "\n"


def _sentence(error: RequestValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return "the request is not JSON"
    place = " ".join(".".join(str(part) for part in first["loc"][1:]).split()) or "the request"
    return f"{place[-60:]}: {first['msg'][0].lower()}{first['msg'][1:]}"
