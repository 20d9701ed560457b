"""What a run cost the API server and etcd: bytes, watch events, seats of priority and fairness.

Taken from their metrics before and after a run, so what others do meanwhile is in it, and what the
two do themselves; a run in which nothing else happens is nearly all there is. Times and counts of
requests are not judged by these: they come from the audit log.
"""

import re
import urllib.request

LINE = re.compile(r"^(\w+)(?:\{([^}]*)\})? (\S+)$", re.M)
LABEL = re.compile(r'(\w+)="([^"]*)"')
SENT = "apiserver_request_body_size_bytes_"
WATCHED = "apiserver_watch_events_sizes_"
RAN, WAITED = ("apiserver_flowcontrol_request_execution_seconds_",
               "apiserver_flowcontrol_request_wait_duration_seconds_")
ETCD = {"etcd_mvcc_put_total": "puts", "etcd_network_client_grpc_received_bytes_total": "in_bytes",
        "etcd_network_client_grpc_sent_bytes_total": "out_bytes"}


def sample(plane):
    """The counters as they are now: {(group of figures, name, figure): value}."""
    with urllib.request.urlopen(f"http://127.0.0.1:{plane.ports['etcd']}/metrics",
                                timeout=30) as answer:
        etcd = answer.read().decode()
    return counters(plane.request("GET", "/metrics"), etcd)


def counters(apiserver, etcd):
    """The counters of two texts of metrics."""
    found = {}
    for name, labels, value in LINE.findall(apiserver):
        key = apiserver_key(name, labels)
        if key:
            found[key] = found.get(key, 0) + float(value)
    for name, _, value in LINE.findall(etcd):
        if name in ETCD:
            found["etcd", "etcd", ETCD[name]] = float(value)
    return found


def apiserver_key(name, labels):
    """Which counter a line of the API server's metrics belongs to, or None."""
    base, _, kind = name.rpartition("_")
    base, kind = base + "_", {"sum": "bytes", "count": "count"}.get(kind)
    if base not in (SENT, WATCHED, RAN, WAITED) or kind is None:
        return None
    label = dict(LABEL.findall(labels))
    if base == SENT:
        return "sent", f"{label['verb']} {label['resource']}", kind
    if base == WATCHED:
        return "watched", label["resource"], kind
    if base == RAN and label["type"] != "regular":  # a watch is long, but keeps no seat
        return None
    kind = {"bytes": "ran_s" if base == RAN else "waited_s", "count": "requests"}[kind]
    if base == WAITED and kind == "requests":
        return None
    return "levels", label["priority_level"], kind


def difference(before, after):
    """What has been counted between two samples: {group: {name: {figure: value}}}, zeros left out."""
    found = {}
    for (group, name, kind), value in sorted(after.items()):
        more = value - before.get((group, name, kind), 0)
        if more > 0:
            found.setdefault(group, {}).setdefault(name, {})[kind] = more
    return found


# The table


def per_pod(run):
    """[(what, per pod as text)] of a run."""
    pods, found = run["pods_wanted"], run["costs"]
    rows = [("requests in the audit log", f"{sum(row[4] for row in run['requests']) / pods:.2f}")]
    rows += [(f"CPU of {name}, ms", f"{1000 * one['cpu_s'] / pods:.2f}")
             for name, one in run["usage"].items()]
    for group, what in (("sent", "bodies sent: {}"), ("watched", "watch events sent: {}")):
        rows += [(what.format(name), f"{one.get('count', 0) / pods:.2f}, "
                  f"{one.get('bytes', 0) / pods:.0f} bytes")
                 for name, one in found.get(group, {}).items() if one.get("bytes", 0) >= 10 * pods]
    rows += [(f"seats of {name}, ms taken; ms waited for",
              f"{1000 * one.get('ran_s', 0) / pods:.2f}; {1000 * one.get('waited_s', 0) / pods:.2f}")
             for name, one in found.get("levels", {}).items() if one.get("ran_s", 0) >= pods / 1e5]
    etcd = found.get("etcd", {}).get("etcd", {})
    rows += [(f"etcd: {what}", f"{etcd.get(key, 0) / pods:.2f}") for key, what in
             (("puts", "puts"), ("in_bytes", "bytes in"), ("out_bytes", "bytes out"))]
    return rows


def table_rows(bare, ours):
    """[what, bare, ours] of two runs, everything that either has."""
    left, right = dict(per_pod(bare)), dict(per_pod(ours))
    return [[what, left.get(what, "-"), right.get(what, "-")] for what in {**right, **left}]
