/*
 * Walks up trees whose nodes have `parent` and `depth`, whatever else they are.
 */
#ifndef PUMICE_SCHEDULER_SHARES_TREE_H
#define PUMICE_SCHEDULER_SHARES_TREE_H

/*
 * Moves two nodes of one tree up until they are siblings, or one and the same: then one of them was
 * above the other. Both are evaluated more than once.
 */
#define tree_climb_to_siblings(a, b)                                                               \
    do {                                                                                           \
        while ((a)->depth > (b)->depth)                                                            \
            (a) = (a)->parent;                                                                     \
        while ((b)->depth > (a)->depth)                                                            \
            (b) = (b)->parent;                                                                     \
        while ((a) != (b) && (a)->parent != (b)->parent) {                                         \
            (a) = (a)->parent;                                                                     \
            (b) = (b)->parent;                                                                     \
        }                                                                                          \
    } while (0)

#endif
