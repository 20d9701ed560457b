"""What comes out otherwise through an API server than the case says, and why.

Each entry is a kind of outcome, the words by which the API server's answer is known for it, the reason, and its
cases. A case that is listed must come out as listed; one that is not must come out the same.
"""

SCHEMA = "schema first"
OTHER = "otherwise"

# (kind, words in what came back, reason, cases)
LISTED = (
    (SCHEMA, "Required value", "a member without which the object has no meaning is required by the CRD", """
        cronjobs-validate/job-absent cronjobs-validate/schedule-absent jobs-validate/claim-data-source
        jobs-validate/template-affinity-no-terms jobs-validate/template-affinity-pod-faults
        jobs-validate/template-container-no-name-no-image jobs-validate/template-dns-host-aliases-faults
        jobs-validate/template-env-field-path jobs-validate/template-env-key
        jobs-validate/template-mount-unknown jobs-validate/template-port-range jobs-validate/template-probe-http
        jobs-validate/template-resources-claims jobs-validate/template-spread-empty
        jobs-validate/template-volume-claim-no-name jobs-validate/template-volume-config-map-faults
        jobs-validate/template-volume-host-path-none jobs-validate/template-volume-nfs-faults
        jobs-validate/template-volume-no-name"""),
    (SCHEMA, "Duplicate value", "lists with keys take each key once", """
        jobs-validate/template-container-name-twice jobs-validate/template-mount-path-twice
        jobs-validate/template-scheduling-gates-faults jobs-validate/template-spread-twice
        jobs-validate/template-volume-name-twice jobs-validate/template-volume-resource-claims-faults"""),
    (SCHEMA, "Unsupported value", "events and actions are enumerations of the CRD", """
        cronjobs-validate/job-policy jobs-validate/policies-job-event jobs-validate/policies-task-event"""),
    (SCHEMA, "should be greater than or equal to", "the least number is in the CRD", """
        jobs-mutate/negative-numbers jobs-validate/partitions-size jobs-validate/partitions-total
        jobs-validate/update-minimum-negative jobs-validate/update-replicas-negative
        jobs-validate/update-task-minimum-negative queues-mutate/weight-negative"""),
    (SCHEMA, "should match", "names of queues and tasks, and quantities, are patterns of the CRD; the empty text is no "
     "name of a queue", """
        jobs-validate/pod-name-upper-case podgroups-mutate/empty-annotation podgroups-mutate/empty-queue-stays
        podgroups-mutate/text-is-escaped podgroups-validate/no-queue podgroups-validate/update-queue-to-none
        queues-validate/update-adds-no-quantity queues-validate/update-no-quantity"""),
    (SCHEMA, "should be at least 1 chars long", "paths and patterns that are required may not be empty", """
        hypernodes-validate/regex-second-member jobs-validate/volume-no-path"""),
    (SCHEMA, "should have at least 1 items", "lists that are required may not be empty", """
        cronjobs-validate/job-no-tasks hypernodes-validate/no-members"""),
    (SCHEMA, "must be of type", "types are the CRD's affair", "jobflows-validate/wrong-types"),
    (SCHEMA, "a lowercase RFC 1123 subdomain", "API servers check the names of objects themselves", """
        cronjobs-validate/name-invalid jobs-validate/pod-name-underscore"""),
    (OTHER, "status.state: Unsupported value", "no server stores such a state, so there is nothing to update",
     "queues-validate/update-state-wrong-before"),
    (OTHER, "is let in", "API servers drop the status of an object that is written as a whole", """
        queues-validate/state-wrong queues-validate/update-state-to-wrong"""),
    (OTHER, "is let in", "the registration asks about pods of volcano; who adds schedulers widens it",
     "pods-validate/second-scheduler-name"),
    (OTHER, "the object has spec.schedulingGates: None", "the registration asks about pods of volcano only",
     "pods-mutate/gate-of-other-scheduler"),
    (OTHER, "the object has spec.queue: team-a, expected is default", "the CRD fills in the queue default, "
     "which the webhook then finds", "podgroups-mutate/no-queue-stays"),
)

# {case: (kind, words)}
OUTCOMES = {name: (kind, words) for kind, words, _, names in LISTED for name in names.split()}

# What these are about is filled in by the webhook that mutates, so only the one that validates is asked.
FILLED_IN = frozenset(("jobs-validate/service-name-by-pytorch", "jobs-validate/unnamed-tasks-clash"))
