/*
 * Who waits in the window, and who is next.
 *
 * A lane is a class: a round-robin list of the flows that have requests of this class, and a heap
 * of those among them whose gang lacks pods. Picking costs O(log flows) at most. Nothing is
 * allocated here but the heap's array; requests and flows are linked in. Loop thread only.
 */
#include "kube/window_private.h"

#define ROUND_ROBIN_EVERY 4 /* one pick in four */
#define PASSED_NS (50 * NSEC_PER_MSEC)
#define STATUS_PART 4              /* of the limit, one slot in so many, if anything above ... */
#define STATUS_YIELDS NSEC_PER_SEC /* ... was sent in this time */

/*
 * After so many picks of others a lower class gets one, if somebody has waited in it for PASSED_NS,
 * and the pick before was none of that kind. Pods are not to fall behind while PodGroups are made:
 * with 10,000 jobs of one pod those never end, and jobs that have entered their queue would wait
 * for ever more seconds for their pods. Of statuses, which are merged while they wait, one goes in
 * that time at most.
 */
static const unsigned passed_picks[WINDOW_CLASS_COUNT] = {
    [WINDOW_DELETE] = 1, [WINDOW_CREATE] = 1, [WINDOW_STATUS] = 8};

static const struct window_flow *flow_of(const struct heap_node *node, enum window_class cls)
{
    const void *flow = (const char *)(node - cls) - offsetof(struct window_flow, urgent);
    return flow;
}

static bool flow_less(const struct heap_node *a, const struct heap_node *b, void *arg)
{
    const struct window_lane *lane = arg;
    const struct window_flow *x = flow_of(a, lane->cls), *y = flow_of(b, lane->cls);

    uint64_t x_missing = (uint64_t)x->missing * y->weight;
    uint64_t y_missing = (uint64_t)y->missing * x->weight;
    if (x_missing != y_missing)
        return x_missing < y_missing;
    if (x->since_ns != y->since_ns)
        return x->since_ns < y->since_ns;
    return x->sequence < y->sequence;
}

static bool delayed_less(const struct heap_node *a, const struct heap_node *b, void *arg)
{
    (void)arg;
    const size_t offset = offsetof(struct window_request, delayed);
    const struct window_request *x = (const void *)((const char *)a - offset);
    const struct window_request *y = (const void *)((const char *)b - offset);
    return x->at.due_ns != y->at.due_ns ? x->at.due_ns < y->at.due_ns : x->sequence < y->sequence;
}

void window_queue_init(struct window *window)
{
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++) {
        struct window_lane *lane = &window->lanes[cls];
        lane->cls = (enum window_class)cls;
        list_init(&lane->ready);
        heap_init(&lane->urgent, flow_less, lane);
    }
    heap_init(&window->delayed, delayed_less, NULL);
}

void window_queue_clear(struct window *window)
{
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++)
        heap_clear(&window->lanes[cls].urgent);
    heap_clear(&window->delayed);
}

/* ---- flows ---------------------------------------------------------------------------------- */

void window_flow_init(struct window *window, struct window_flow *flow)
{
    *flow = (struct window_flow){.window = window,
                                 .weight = 1,
                                 .since_ns = loop_now(window->loop),
                                 .sequence = window->next_sequence++};
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++) {
        list_init(&flow->ready[cls]);
        list_init(&flow->waiting[cls]);
    }
}

/* Puts the flow where it belongs in one lane, given what it has waiting there. */
static void place_flow(struct window_lane *lane, struct window_flow *flow)
{
    struct heap_node *node = &flow->urgent[lane->cls];
    bool waits = !list_empty(&flow->waiting[lane->cls]);

    if (!waits) {
        list_remove(&flow->ready[lane->cls]);
        flow->rounds[lane->cls] = 0;
    } else if (list_empty(&flow->ready[lane->cls])) {
        list_append(&lane->ready, &flow->ready[lane->cls]);
    }
    if (!waits || flow->missing == 0)
        heap_remove(&lane->urgent, node);
    else if (heap_contains(node))
        heap_update(&lane->urgent, node);
    else
        heap_push(&lane->urgent, node);
}

static void place_everywhere(struct window_flow *flow)
{
    for (int cls = 0; cls < WINDOW_CLASS_COUNT; cls++)
        if (!list_empty(&flow->waiting[cls]))
            place_flow(&flow->window->lanes[cls], flow);
}

void window_flow_set_missing(struct window_flow *flow, uint32_t missing)
{
    if (flow->missing == missing)
        return;
    flow->missing = missing;
    place_everywhere(flow);
}

void window_flow_set_weight(struct window_flow *flow, int64_t weight)
{
    if (weight < 1)
        weight = 1;
    else if (weight > WINDOW_WEIGHT_MOST)
        weight = WINDOW_WEIGHT_MOST;
    if (flow->weight == weight)
        return;
    flow->weight = (uint8_t)weight;
    place_everywhere(flow);
}

/* ---- requests ------------------------------------------------------------------------------- */

static void insert_by_sequence(struct list *head, struct window_request *request)
{
    struct list *after = head->next;
    while (after != head &&
           container_of(after, struct window_request, link)->sequence < request->sequence)
        after = after->next;
    list_append(after, &request->link);
}

void window_queue_push(struct window *window, struct window_request *request)
{
    struct window_lane *lane = &window->lanes[request->cls];
    struct list *head = &request->flow->waiting[request->cls];
    bool flow_waited = !list_empty(head);

    if (list_empty(&lane->ready)) {
        lane->ready_ns = lane->served_ns = loop_now(window->loop);
        lane->served_pick = window->picks;
    }
    if (request->again)
        insert_by_sequence(head, request);
    else
        list_append(head, &request->link);
    request->state = WINDOW_WAITING;
    if (!flow_waited)
        place_flow(lane, request->flow);
}

void window_queue_remove(struct window *window, struct window_request *request)
{
    list_remove(&request->link);
    if (list_empty(&request->flow->waiting[request->cls]))
        place_flow(&window->lanes[request->cls], request->flow);
}

/* Three of four picks go to the gang nearest to its minimum, the fourth goes round. */
static struct window_flow *pick_flow(struct window_lane *lane)
{
    struct heap_node *nearest = heap_peek(&lane->urgent);
    bool round = lane->turn++ % ROUND_ROBIN_EVERY == ROUND_ROBIN_EVERY - 1;

    if (nearest && !round)
        return container_of(nearest - lane->cls, struct window_flow, urgent);
    struct window_flow *flow =
        container_of(lane->ready.next - lane->cls, struct window_flow, ready);
    if (++flow->rounds[lane->cls] >= flow->weight) {
        flow->rounds[lane->cls] = 0;
        list_remove(&flow->ready[lane->cls]);
        list_append(&lane->ready, &flow->ready[lane->cls]);
    }
    return flow;
}

/* Whether a higher class waits. */
static bool passes_others(const struct window *window, const struct window_lane *lane)
{
    bool waits = false;
    for (int cls = WINDOW_LEASE + 1; cls < (int)lane->cls && !waits; cls++)
        waits = !list_empty(&window->lanes[cls].ready);
    return waits;
}

struct window_request *window_queue_pick(struct window *window, struct window_lane *lane)
{
    if (list_empty(&lane->ready))
        return NULL;
    struct window_flow *flow = pick_flow(lane);
    struct window_request *request =
        container_of(flow->waiting[lane->cls].next, struct window_request, link);
    window_queue_remove(window, request);
    if (lane->cls != WINDOW_LEASE) {
        window->picks++;
        window->passed = passes_others(window, lane);
    }
    lane->served_pick = window->picks;
    lane->served_ns = loop_now(window->loop);
    return request;
}

static bool is_passed_over(const struct window *window, const struct window_lane *lane)
{
    int64_t since_ns = lane->cls == WINDOW_STATUS ? lane->served_ns : lane->ready_ns;
    return window->picks - lane->served_pick >= passed_picks[lane->cls] &&
           loop_now(window->loop) - since_ns >= PASSED_NS;
}

/* Where it says no one of them is in flight, whose answer brings the next turn. */
static bool may_send_status(const struct window *window)
{
    const unsigned most = window_limit_now(&window->limit) / STATUS_PART;
    return window->busy_statuses < (most ? most : 1) || !window->urgent_ns ||
           loop_now(window->loop) - window->urgent_ns >= STATUS_YIELDS;
}

struct window_lane *window_queue_lane(struct window *window)
{
    struct window_lane *first = NULL, *passed = NULL;

    for (int cls = WINDOW_LEASE + 1; cls < WINDOW_CLASS_COUNT; cls++) {
        struct window_lane *lane = &window->lanes[cls];
        if (list_empty(&lane->ready))
            continue;
        if (cls == WINDOW_STATUS && !may_send_status(window))
            break;
        if (!first)
            first = lane;
        else if (cls != WINDOW_EVENT && !window->passed && is_passed_over(window, lane) &&
                 (!passed || lane->served_pick < passed->served_pick))
            passed = lane;
    }
    return passed ? passed : first;
}
