"""Who may ask: bearer tokens with the scopes `read` and `write`. Without any token, whoever is on this machine."""

from __future__ import annotations

import hmac
from hashlib import sha256
from time import monotonic
from typing import Final

from flask import Request

from service.http.refusals import Refused
from service.planning.stores import TokenStore
from service.settings import Settings

LOOK_AGAIN_SECONDS: Final = 1.0  # how long an open service may take to notice its first token
_LOOPBACK: Final = ("127.", "::1", "::ffff:127.")


class Gate:
    """Lets requests in or refuses them with 401 or 403."""

    def __init__(self, settings: Settings, tokens: TokenStore) -> None:
        self._tokens = tokens
        self._bootstrap = [(_digest(token), scopes) for token, scopes in settings.api_tokens.items()]
        self._open_to_all = settings.allow_open
        self._open_to_this_machine = settings.on_loopback
        self._has_tokens = bool(self._bootstrap)  # once true it stays so: a service that was closed never opens again
        self._looked_at = float("-inf")

    def admit(self, request: Request, scope: str) -> None:
        """Return if the request may use the scope, raise Refused if not."""
        header = request.environ.get("HTTP_AUTHORIZATION", "")
        if self._is_open(request):
            return
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise _unauthorized("send `Authorization: Bearer TOKEN`", "")
        scopes = self._scopes(token.strip())
        if scopes is None:
            raise _unauthorized("the token is not one of this service's", ', error="invalid_token"')
        if scope not in scopes:
            challenge = f'Bearer realm="stepcast", error="insufficient_scope", scope="{scope}"'
            raise Refused("forbidden", f"the token lacks the scope {scope!r}", headers={"WWW-Authenticate": challenge})

    def _is_open(self, request: Request) -> bool:
        if self._has_tokens:
            return False
        here = self._open_to_this_machine and (request.remote_addr or "127.").startswith(_LOOPBACK)
        if not self._open_to_all and not here:
            return False
        now = monotonic()
        if now - self._looked_at >= LOOK_AGAIN_SECONDS:
            self._has_tokens = self._tokens.any()
            self._looked_at = now
        return not self._has_tokens

    def _scopes(self, token: str) -> frozenset[str] | None:
        given = _digest(token)
        found = None
        for digest, scopes in self._bootstrap:  # all of them, so that time tells nothing
            if hmac.compare_digest(digest, given):
                found = scopes
        return found if found is not None else self._tokens.accepts(token)


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


def _unauthorized(detail: str, error: str) -> Refused:
    return Refused("unauthorized", detail, headers={"WWW-Authenticate": f'Bearer realm="stepcast"{error}'})
