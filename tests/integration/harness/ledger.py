"""When the objects of a namespace came, changed and went, by UID, in the API server's own order.

A watch of each kind tells every change with its resourceVersion, and those are one order for all
kinds: so the ledger can say what was there when, however late anybody learnt of it.
"""

import json
import threading
import time

from .api import JOBS, PODGROUPS, kind_of
from .wait import wait_until
from .witness import Watch

CORE = {"pods": "pod", "services": "service", "configmaps": "config_map", "secrets": "secret"}


class Entry:
    """One object. Versions are resourceVersions; 0 is not yet."""

    def __init__(self, kind, found):
        metadata = found["metadata"]
        self.kind, self.uid, self.name = kind, metadata["uid"], metadata["name"]
        owners = metadata.get("ownerReferences") or [{}]
        self.owner = owners[0].get("uid", "")  # as it was made
        self.born = self.gone = self.deleted = 0
        self.gone_at = 0.0  # when that was heard of, in seconds since 1970
        self.states = []  # (version, object), each change

    def see(self, verb, found):
        """Takes in one event of a watch."""
        version = int(found["metadata"]["resourceVersion"])
        self.born = self.born or version
        self.states.append((version, found))
        if verb == "DELETED":
            self.gone, self.gone_at = version, time.time()
        if verb == "DELETED" or "deletionTimestamp" in found["metadata"]:
            self.deleted = self.deleted or version

    @property
    def version(self):
        """Of its last change."""
        return self.states[-1][0]

    def __repr__(self):
        return f"{self.kind} {self.name} ({self.born} to {self.gone or 'now'})"


class Ledger:
    """All pods, jobs, PodGroups, Services, ConfigMaps and Secrets of a namespace since now."""

    def __init__(self, api, ns):
        self.api, self.ns = api, ns
        self._entries = {}  # UID: Entry
        self._lock = threading.Lock()
        self._asks = {kind: self._ask_core(word) for kind, word in CORE.items()}
        for kind in (JOBS, PODGROUPS):
            self._asks[kind[2]] = self._ask_custom(kind)
        self._watches = [Watch(ask, self._teller(kind)) for kind, ask in self._asks.items()]

    def _ask_core(self, word):
        listing = getattr(self.api.core, f"list_namespaced_{word}")
        return lambda **more: listing(self.ns, _preload_content=False, **more)

    def _ask_custom(self, kind):
        return lambda **more: self.api.custom.list_namespaced_custom_object(
            **kind_of(kind, self.ns), _preload_content=False, **more)

    def _teller(self, kind):
        def tell(verb, found):
            with self._lock:
                entry = self._entries.setdefault(found["metadata"]["uid"], Entry(kind, found))
                entry.see(verb, found)
        return tell

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for watch in self._watches:
            watch.end()

    def entries(self, kind=None, owner=None, name=None):
        """Those of a kind, of an owner (UID), of a name, in the order in which they came."""
        with self._lock:
            found = sorted(self._entries.values(), key=lambda entry: entry.born)
        return [entry for entry in found if kind in (None, entry.kind)
                and owner in (None, entry.owner) and name in (None, entry.name)]

    def job(self, uid):
        """The entry of a job, None if it was not seen yet."""
        with self._lock:
            return self._entries.get(uid)

    def settle(self, timeout=60):
        """Waits until all that has happened so far stands in the ledger."""
        for kind, ask in self._asks.items():
            listed = json.loads(ask().data)
            now = int(listed["metadata"]["resourceVersion"])
            there = {found["metadata"]["uid"]: int(found["metadata"]["resourceVersion"])
                     for found in listed["items"]}

            def seen(kind=kind, now=now, there=there):
                known = {entry.uid: entry for entry in self.entries(kind)}
                return all(uid in known and known[uid].version >= version
                           for uid, version in there.items()) and all(
                    entry.gone or entry.uid in there or entry.born > now
                    for entry in known.values())
            wait_until(seen, timeout, f"the ledger to have seen all {kind}")
        broken = [watch.broken for watch in self._watches if watch.broken]
        assert not broken and not sum(watch.gaps for watch in self._watches), broken
