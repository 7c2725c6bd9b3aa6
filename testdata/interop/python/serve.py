"""Answers requests, one JSON object a line, on stdin with one on stdout each: {"result": ...} or {"error": "..."}.

A client module hands serve() an object; the request's "op" names the method, the rest are its arguments. Bytes are
base64, null is null, records are {"id", "time", "key", "value", "headers": [{"name", "value"}]}.
"""

import base64
import json
import os
import sys

END, START, NONE = -1, -2, -1


def encode(b):
    return None if b is None else base64.b64encode(b).decode("ascii")


def decode(s):
    return None if s is None else base64.b64decode(s)


def record(id, time, key, value, headers):
    return {"id": id, "time": time, "key": encode(key), "value": encode(value),
            "headers": [{"name": name, "value": encode(v)} for name, v in headers or []]}


def fields(r):
    """Returns key, value and headers of a record that is to be sent."""
    headers = [(h["name"], decode(h["value"])) for h in r["headers"] or []]
    return decode(r["key"]), decode(r["value"]), headers


def serve(client):
    # Whatever a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": getattr(client, request.pop("op"))(**request)}
        except Exception as e:
            answer = {"error": "%s: %s" % (type(e).__name__, e)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
