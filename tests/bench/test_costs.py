"""Costs out of metrics, on a few lines of them."""

import costs
from test_fanout import data_of
import report

APISERVER = """# TYPE apiserver_request_body_size_bytes histogram
apiserver_request_body_size_bytes_bucket{group="",resource="pods",verb="create",le="50"} 7
apiserver_request_body_size_bytes_sum{group="",resource="pods",verb="create"} %d
apiserver_request_body_size_bytes_count{group="",resource="pods",verb="create"} 4
apiserver_watch_events_sizes_sum{group="",resource="pods",version="v1"} 9000
apiserver_watch_events_sizes_count{group="",resource="pods",version="v1"} 3
apiserver_flowcontrol_request_execution_seconds_sum{flow_schema="a",priority_level="low",type="regular"} 1.5
apiserver_flowcontrol_request_execution_seconds_sum{flow_schema="b",priority_level="low",type="regular"} 0.5
apiserver_flowcontrol_request_execution_seconds_count{flow_schema="a",priority_level="low",type="regular"} 6
apiserver_flowcontrol_request_execution_seconds_sum{flow_schema="a",priority_level="low",type="watch"} 100
apiserver_flowcontrol_request_wait_duration_seconds_sum{execute="true",flow_schema="a",priority_level="low"} 0.25
apiserver_flowcontrol_request_wait_duration_seconds_count{execute="true",flow_schema="a",priority_level="low"} 6
apiserver_current_inflight_requests{request_kind="mutating"} 1
"""
ETCD = "etcd_mvcc_put_total 12\netcd_network_client_grpc_sent_bytes_total 3.5e+06\nother_total 1\n"


def test_counters_are_found_and_added_up():
    found = costs.counters(APISERVER % 8000, ETCD)
    assert found == {
        ("sent", "create pods", "bytes"): 8000, ("sent", "create pods", "count"): 4,
        ("watched", "pods", "bytes"): 9000, ("watched", "pods", "count"): 3,
        ("levels", "low", "ran_s"): 2.0, ("levels", "low", "requests"): 6,
        ("levels", "low", "waited_s"): 0.25,
        ("etcd", "etcd", "puts"): 12, ("etcd", "etcd", "out_bytes"): 3.5e6}


def test_a_cost_is_what_was_added_between_two_samples():
    before, after = (costs.counters(APISERVER % size, ETCD) for size in (8000, 8500))
    after["watched", "jobs", "count"] = 2.0
    assert costs.difference(before, after) == {
        "sent": {"create pods": {"bytes": 500}}, "watched": {"jobs": {"count": 2.0}}}


def test_the_table_is_per_pod_and_has_what_either_run_has():
    runs = data_of()["triples"][0]["runs"]
    runs[0]["costs"] = costs.difference({}, costs.counters(APISERVER % 8000, ETCD))
    runs[1]["costs"] = {**runs[0]["costs"], "watched": {"jobs": {"bytes": 400, "count": 8}}}
    rows = {row[0]: row[1:] for row in costs.table_rows(*runs[:2])}
    assert rows["bodies sent: create pods"] == ["1.00, 2000 bytes", "1.00, 2000 bytes"]
    assert rows["watch events sent: pods"] == ["0.75, 2250 bytes", "-"]
    assert rows["watch events sent: jobs"] == ["-", "2.00, 100 bytes"]
    assert rows["seats of low, ms taken; ms waited for"] == ["500.00; 62.50"] * 2
    assert rows["etcd: puts"] == ["3.00", "3.00"]
    assert rows["CPU of etcd, ms"] == ["250.00", "250.00"]
    assert "### What a pod costs" in "\n".join(report.cost_of_pod(runs))
    assert report.cost_of_pod(data_of()["triples"][0]["runs"]) == []
