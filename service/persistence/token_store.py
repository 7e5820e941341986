"""TokenStore: API tokens, of which the database knows the SHA-256 only."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import insert

from service.persistence.database import SqlDatabase
from service.persistence.hot_reads import HotStatement
from service.persistence.identifiers import new_id
from service.persistence.tables import api_tokens

_SCOPES = HotStatement("token_scopes", "SELECT scopes FROM api_tokens WHERE sha256 = :value")
_ANY = HotStatement("any_token", "SELECT name FROM api_tokens LIMIT 1")
_PREFIX = "stepcast_"  # lets secret scanners recognise one that leaked
_RANDOM_BYTES = 32


class SqlTokenStore:
    """Keeps tokens in a database. A random token needs no salt: nobody can list the candidates."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    def accepts(self, token: str) -> frozenset[str] | None:
        """Return the scopes of the token, or None when it is not one."""
        scopes = self._database.hot.value(_SCOPES, _sha256(token))
        return None if scopes is None else frozenset(scopes.split())

    def create(self, name: str, scopes: Sequence[str]) -> str:
        """Make a token and return it; it cannot be read again."""
        token = _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
        row = {
            "id": new_id(),
            "name": name,
            "sha256": _sha256(token),
            "scopes": " ".join(sorted(set(scopes))),
            "created_at": datetime.now(UTC),
        }
        with self._database.writing() as connection:
            connection.execute(insert(api_tokens), row)
        return token

    def any(self) -> bool:
        """Return whether there is a token at all."""
        return self._database.hot.value(_ANY) is not None


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()
