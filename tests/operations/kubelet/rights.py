"""What RBAC grants our service accounts, against what the audit log has seen them do.

A right is one verb on one resource, in a namespace or everywhere, for one name or for all; its text is
"VERB RESOURCE.GROUP[/SUBRESOURCE] [NAME] [in NAMESPACE]".
"""

from dataclasses import dataclass

import yaml

from harness.audits import audit

ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, order=True)
class Right:
    """One right of one account; "" for a name or namespace that does not matter."""
    account: str
    verb: str
    resource: str
    name: str = ""
    namespace: str = ""

    def __str__(self):
        return " ".join(filter(None, (self.verb, self.resource, self.name, self.namespace and f"in {self.namespace}")))

    def covers(self, call):
        """True if it allows a call: a Right with all that is known of it."""
        return ((self.account, self.verb, self.resource) == (call.account, call.verb, call.resource) and
                self.name in ("", call.name) and self.namespace in ("", call.namespace))


def resource_text(resource, group):
    """"jobs/status" of a group as "jobs.batch.volcano.sh/status"."""
    main, _, sub = resource.partition("/")
    return ".".join(filter(None, (main, group))) + (f"/{sub}" if sub else "")


def granted(objects):
    """All rights that Roles and ClusterRoles among these objects give to service accounts, by their bindings."""
    roles = {(found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"]): found["rules"]
             for found in objects if found["kind"] in ("Role", "ClusterRole")}
    rights = set()
    for binding in objects:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        namespace = binding["metadata"].get("namespace", "")
        reference = binding["roleRef"]
        where = namespace if reference["kind"] == "Role" else ""
        for rule in roles[reference["kind"], where, reference["name"]]:
            for subject in binding["subjects"]:
                rights.update(rights_of(rule, f"{subject['namespace']}:{subject['name']}", namespace))
    return rights


def rights_of(rule, account, namespace):
    """The rights of one rule. A wildcard would not be found in any log, so there is none to be understood."""
    return {Right(account, verb, resource_text(resource, group), name, namespace)
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]
            for name in rule.get("resourceNames", [""])}


def calls(records):
    """(call, code, time) of each call that the audit log has of a service account of ours."""
    for record in records:
        user = record.get("user", {}).get("username", "")
        target = record.get("objectRef")
        if not user.startswith(f"{ACCOUNT}volcano-system:") or target is None:
            continue
        resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
        call = Right(user.removeprefix(ACCOUNT), record["verb"],
                     resource_text(resource, target.get("apiGroup", "")), target.get("name", ""),
                     target.get("namespace", ""))
        yield call, record.get("responseStatus", {}).get("code", 0), audit.seconds(record["requestReceivedTimestamp"])


def used(rights, seen):
    """Those of the rights that allowed at least one of the calls."""
    return {right for right in rights if any(right.covers(call) for call in seen)}


def reasons(path):
    """{Right as text with its account: why it is granted although no run has to use it}."""
    return {f"{account}: {one}": entry["why"] for account, entries in yaml.safe_load(path.read_text()).items()
            for entry in entries for one in entry["rights"]}
