"""Which form the answer takes: ?format= wins over Accept; JSON unless asked otherwise."""

from __future__ import annotations

from typing import Final

from flask import Request

from service.errors import FieldProblem
from service.http.fields import nearest
from service.http.query import FORMAT
from service.http.refusals import Refused, invalid_request

JSON: Final = "application/json"
MEDIA_TYPES: Final = {"json": JSON, "text": "text/plain", "csv": "text/csv"}


def chosen_format(request: Request, offered: tuple[str, ...] = ("json", "text", "csv")) -> str:
    """Return json, text or csv.

    Raises
    ------
    Refused
        422 for a `format` that is not offered, 406 when Accept takes none of those that are.
    """
    asked = request.args.getlist(FORMAT)
    if asked:
        if len(asked) > 1 or asked[0] not in offered:
            given = asked[0] if len(asked) == 1 else asked
            message = f"must be one of {', '.join(offered)}"
            problem = FieldProblem("/format", message, given, list(offered), nearest(given, offered))
            raise invalid_request([problem])
        return asked[0]
    accept = request.environ.get("HTTP_ACCEPT")
    if accept in (None, "", "*/*", JSON):
        return "json"
    known = {MEDIA_TYPES[name]: name for name in offered}
    best = request.accept_mimetypes.best_match(list(known))
    if best is None:
        problem = FieldProblem("", "no such format", accept, list(known), JSON)
        raise Refused("not-acceptable", f"the answer comes as {', '.join(known)}; {accept!r} takes none", [problem])
    return known[best]
