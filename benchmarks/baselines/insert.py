"""The least that keeps anything: one Core insert of the body, as durable as the service's own."""

from __future__ import annotations

import os
from typing import Any
from uuid import uuid4

from flask import Flask, Response, jsonify, request
from sqlalchemy import JSON, Column, MetaData, String, Table, create_engine, event, insert

from benchmarks.baselines.server import BareServer

app = Flask(__name__)
engine = create_engine(os.environ["STEPCAST_DATABASE_URL"])
rows = Table("rows", MetaData(), Column("id", String(36), primary_key=True), Column("body", JSON, nullable=False))

if engine.dialect.name == "sqlite":

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA busy_timeout = 20000")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")


@app.post("/rows")
def keep() -> tuple[Response, int]:
    row_id = str(uuid4())
    with engine.begin() as connection:
        connection.execute(insert(rows), {"id": row_id, "body": request.get_json()})
    return jsonify(id=row_id), 201


if __name__ == "__main__":
    rows.create(engine)
    engine.dispose()
    BareServer(app).run()
