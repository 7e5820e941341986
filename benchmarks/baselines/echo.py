"""The least that Flask can do: read JSON, or a query, and send it back."""

from __future__ import annotations

from flask import Flask, Response, jsonify, request

from benchmarks.baselines.server import BareServer

app = Flask(__name__)


@app.get("/echo")
def echo_query() -> Response:
    return jsonify(request.args)


@app.post("/echo")
def echo_body() -> Response:
    return jsonify(request.get_json())


if __name__ == "__main__":
    BareServer(app).run()
