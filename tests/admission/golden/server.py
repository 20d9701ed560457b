"""The API server as the cases need it: as one of several users, with warnings, over one connection."""

import http.client
import json
import re
import ssl
import urllib.parse

MERGE = "application/merge-patch+json"
WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')

# Who asks. All may do everything; what tells them apart is which of our webhooks sees their requests
# (registration.py).
USER = "golden:user"
MAKER = "golden:maker"          # none: makes states that no user could make
UNFILLED = "golden:unfilled"    # only those that validate
UNCHECKED = "golden:unchecked"  # only those that mutate


class Answer:
    """An answer: `code`, `body`, and the texts of its warnings."""

    def __init__(self, code, body, warnings):
        self.code, self.body, self.warnings = code, body, warnings

    @property
    def good(self):
        return 200 <= self.code < 300

    @property
    def message(self):
        """The text of a refusal."""
        return self.body.get("message", "")


class Server:
    """A connection to the API server of a control plane; for one thread."""

    def __init__(self, plane):
        context = ssl.create_default_context(cafile=str(plane.pki.ca))
        context.load_cert_chain(plane.pki.crt("admin"), plane.pki.key("admin"))
        self._connection = http.client.HTTPSConnection(plane.server.removeprefix("https://"), timeout=60,
                                                       context=context)

    def ask(self, method, path, body=None, user=USER, dry=False, content_type="application/json", **query):
        """One request; refusals are answers like others."""
        query.update({"dryRun": "All"} if dry else {}, fieldValidation="Ignore")
        self._connection.request(
            method, f"{path}?{urllib.parse.urlencode(query)}", None if body is None else json.dumps(body),
            {"Content-Type": content_type, "Impersonate-User": user, "Impersonate-Group": "system:masters"})
        answer = self._connection.getresponse()
        text = answer.read()
        found = [WARNING.match(value.encode("latin-1").decode())
                 for value in answer.headers.get_all("Warning") or []]
        warnings = [re.sub(r"\\(.)", r"\1", match[1]) for match in found]
        return Answer(answer.status, json.loads(text), warnings)

    def must(self, method, path, body=None, missing=False, **options):
        """One request that has to go well; with `missing`, 404 is as good."""
        answer = self.ask(method, path, body, **options)
        if not answer.good and not (missing and answer.code == 404):
            raise RuntimeError(f"{method} {path}: {answer.message}")
        return answer.body

    def close(self):
        self._connection.close()
