"""Sends the cases to an API server and tells how its answers compare to what the cases expect."""

import collections
import re

from . import patch, server
from .cases import url
from .outcomes import FILLED_IN, OUTCOMES
from .server import MAKER, UNFILLED, USER

SAME, NEVER, WRONG = "same", "never sent", "wrong"
ADDED_TOLERATIONS = [  # to each pod, before or after our webhook
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")]


class Result:
    """What became of a case: a `kind` (SAME, NEVER, WRONG, or one of outcomes.py) and a `text`."""

    def __init__(self, case, kind, text=""):
        self.case, self.kind, self.text = case, kind, text


def first_difference(got, expected, path=""):
    """Where two JSON values differ, and how; "" if they do not."""
    if isinstance(got, dict) and isinstance(expected, dict):
        for key in sorted(got.keys() | expected.keys()):
            found = first_difference(got.get(key), expected.get(key), f"{path}.{key}")
            if found:
                return found
        return ""
    return "" if got == expected else f"the object has {path.lstrip('.')}: {got}, expected is {expected}"


def comparable(stored):
    """An object without what the server makes up anew each time."""
    metadata = stored["metadata"]
    for key in ("uid", "creationTimestamp", "managedFields", *(["name"] if "generateName" in metadata else [])):
        metadata.pop(key, None)
    if stored["kind"] == "Pod":
        del stored["status"]
        tolerations = stored["spec"].get("tolerations", [])
        stored["spec"]["tolerations"] = [one for one in tolerations if one not in ADDED_TOLERATIONS]
    return stored


def no_chance(case, text):
    """A message in which the letters that the server has added to a name are x, as the cases have them."""
    prefix = case.object and case.object["metadata"].get("generateName")
    return re.sub(re.escape(prefix) + "[a-z0-9]{5}", f"{prefix}xxxxx", text) if prefix else text


class Runner:
    """Runs cases one after the other. `names` gives the name of the webhook of a path."""

    def __init__(self, connection, world, names):
        self.server, self.world, self.names = connection, world, names

    def run(self, cases):
        """Yields a Result for each case, those of one situation after each other."""
        groups = collections.defaultdict(list)
        for case in cases:
            reason = case.why_never_sent()
            if reason:
                yield Result(case, NEVER, reason)
            else:
                groups[case.situation()].append(case)
        for situation in sorted(groups):
            try:
                self.world.become(groups[situation][0])
            except RuntimeError as error:
                yield from (self.judge(case, f"state: {error}") for case in groups[situation])
                continue
            for case in groups[situation]:
                yield self.judge(case, self.difference(case))

    def judge(self, case, difference):
        """Holds what was found against the list of what is known to come out otherwise."""
        kind, says = OUTCOMES.get(case.name, (SAME, ""))
        if kind == SAME:
            return Result(case, WRONG, difference) if difference else Result(case, SAME)
        if not difference:
            return Result(case, WRONG, f"is listed as {kind}, but comes out the same")
        return Result(case, kind if says in difference else WRONG, difference)

    def difference(self, case):
        """What differs from the expected answer; "" if nothing does."""
        try:
            if case.verb == "mutate":
                return self.mutated(case)
            user = UNFILLED if case.name in FILLED_IN else USER
            return self.validated(case, self.send(case, user))
        except RuntimeError as error:
            return f"state: {error}"

    def validated(self, case, answer):
        """Compares a refusal's text, reason and code, or the warnings of what is let in."""
        if case.response["allowed"]:
            if not answer.good and answer.body.get("reason") != "AlreadyExists":
                return answer.message
            expected = case.response.get("warnings", [])
            return "" if answer.warnings == expected else f"warnings are {answer.warnings}"
        if answer.good:
            return "is let in"
        status = case.response["status"]
        expected = (f'admission webhook "{self.names[case.path]}" denied the request: {status["message"]}',
                    status["reason"], status["code"])
        got = no_chance(case, answer.message), answer.body.get("reason"), answer.code
        return "" if got == expected else f"{got[2]} {got[1]}: {got[0]}"

    def mutated(self, case):
        """The object must be as if its user had written what the patch of the case says."""
        answer = self.send(case, server.UNCHECKED)
        difference = self.validated(case, answer)
        if difference or not answer.good:
            return difference
        written = self.send(case, MAKER, patch.apply(case.object, case.response.get("patch", [])))
        if not written.good:
            return written.message
        return first_difference(comparable(answer.body), comparable(written.body))

    def send(self, case, user, instead=None):
        """Makes the request of a case, perhaps with another object, for the cluster to forget."""
        if case.operation == "CREATE":
            return self.server.ask("POST", url(case.resource, case.namespace), instead or case.object, user=user,
                                   dry=True)
        if case.operation == "DELETE":
            return self.delete(case, user)
        if case.resource == "queues":
            return self.update(case, user)
        self.server.must("POST", url(case.resource, case.namespace), case.old, user=MAKER)
        try:
            return self.update(case, user)
        finally:
            self.world.forget(case)

    def update(self, case, user):
        """Puts the object of a case in place of what is stored."""
        path = url(case.resource, case.namespace, case.old["metadata"]["name"])
        stored = self.server.must("GET", path, user=MAKER)
        metadata = {**case.object["metadata"], "resourceVersion": stored["metadata"]["resourceVersion"]}
        metadata.pop("deletionTimestamp", None)  # is the server's, not a client's
        body = {**case.object, "metadata": metadata}
        if case.resource == "pods":  # the server has added to the spec
            body["spec"] = stored["spec"]
        return self.server.ask("PUT", path, body, user=user, dry=True)

    def delete(self, case, user):
        """Deletes the object of a case; without a name, as one of a collection."""
        if case.request.get("name"):
            return self.server.ask("DELETE", url(case.resource, case.namespace, case.request["name"]), user=user,
                                   dry=True)
        selector = f"metadata.name={case.old['metadata']['name']}"
        return self.server.ask("DELETE", url(case.resource, case.namespace), user=user, dry=True,
                               fieldSelector=selector)
