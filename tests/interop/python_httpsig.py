"""Debian's python3-httpsig as a filter: one JSON object a line on stdin, one on stdout.

    {"op": "sign", "method", "target", "headers": {}, "covered": [], "key": PEM, "key_id"} -> {"signature": header}
    {"op": "verify", "method", "target", "headers": {}, "required": [], "key": PEM} -> {"genuine": true or false}
"""

import json
import sys

from httpsig.sign import HeaderSigner
from httpsig.verify import HeaderVerifier


def answer(ask):
    where = {"method": ask["method"], "path": ask["target"]}
    if ask["op"] == "sign":
        signer = HeaderSigner(ask["key_id"], ask["key"], algorithm="rsa-sha256", headers=ask["covered"], sign_header="signature")
        return {"signature": signer.sign(ask["headers"], **where)["signature"]}
    verifier = HeaderVerifier(ask["headers"], ask["key"], required_headers=ask["required"], sign_header="signature", **where)
    return {"genuine": bool(verifier.verify())}


for line in sys.stdin:
    try:
        reply = answer(json.loads(line))
    except Exception as error:
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), flush=True)
