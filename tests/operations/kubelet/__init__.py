"""A node that runs the pods of our Deployments as processes, for the operations tests.

cluster     all of it together: a control plane, KWOK's nodes, this node, and the installation
netns       the network namespace, and one for each pod in it
node        which pods there are: binds them to this node and runs them
pod         the life of one pod: start, probes, restarts, status, end
sandbox     what a container is made of: file system, user, capabilities
volumes     files of ConfigMaps, Secrets and tokens, kept up to date
probes      readiness, liveness and startup
services    ClusterIPs, forwarded to the ready endpoints
store       the objects of a watch
load        users that create jobs meanwhile, and what became of them
rights      what RBAC grants, against what the audit log has seen
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
for _folder in ("tests/cluster", "tests/integration"):
    sys.path.insert(0, str(ROOT / _folder))
