"""The webhook under test and its registrations, which know the users of server.py."""

import json

import yaml

from harness import ROOT
from harness.pumice import Pumice

from . import server

FLAGS = {  # of a case's rules
    "maxQueueDepth": "max-queue-depth", "rootQueueProtection": "enable-root-queue-protection",
    "allocatedPodsCheck": "enable-queue-allocated-pods-check", "enabledAdmission": "enabled-admission",
    "schedulerName": "scheduler-name", "schedulerNames": "scheduler-name",
}
GATES = {"schedulingGates": "SchedulingGatesQueueAdmission", "podLevelResources": "PodLevelResources"}


def unseen(users):
    """The condition under which a webhook is asked: not by these users."""
    return {"name": "not-of-these-golden-users",
            "expression": f"!(request.userInfo.username in {json.dumps(users)})"}


class Product(Pumice):
    """The webhook with every path registered; which users it sees differs by their names."""

    def webhook_configurations(self):
        extra = yaml.safe_load((ROOT / "manifests" / "extra" / "pods-mutate.yaml").read_text())
        self.install = [o for o in self.install if o["metadata"]["name"] != extra["metadata"]["name"]] + [extra]
        found = super().webhook_configurations()
        for configuration in found:
            mutates = configuration["kind"].startswith("Mutating")
            users = [server.MAKER, server.UNFILLED if mutates else server.UNCHECKED]
            for webhook in configuration["webhooks"]:
                webhook.setdefault("matchConditions", []).append(unseen(users))
        return found

    def names(self):
        """{path: name of its webhook}."""
        return {webhook["clientConfig"]["url"].removeprefix(self.webhook_url): webhook["name"]
                for configuration in self.webhook_configurations() for webhook in configuration["webhooks"]}

    def every_path(self):
        """The value of --enabled-admission that switches all on."""
        return ",".join(self.names())

    def run_with(self, rules, configuration):
        """Starts the webhook, or starts it again, with the flags that make these rules."""
        self.webhook.kill9()  # an orderly end takes seconds
        file = self.plane.folder / "config" / "golden.conf"
        file.write_text("".join(f"{line}\n" for line in configuration or []))
        flags = {"enabled-admission": self.every_path(), "admission-conf": str(file)}
        flags.update({flag: None for name, flag in FLAGS.items() if flag not in flags})
        for name, value in rules.items():
            if name in FLAGS:
                flags[FLAGS[name]] = str(value).lower() if isinstance(value, bool) else value
        gates = [f"{GATES[name]}={str(value).lower()}" for name, value in rules.items() if name in GATES]
        flags["feature-gates"] = ",".join(gates) or None
        self.webhook.flags.update(flags)
        self.webhook.start()
