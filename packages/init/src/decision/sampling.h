/* Which senders have a place in the table, and how many have none: as packages/drain/src/senders/senders.ts. */
#ifndef LAMEDUCK_SAMPLING_H
#define LAMEDUCK_SAMPLING_H

#include "senders.h"

bool is_full(const struct sender_table *table);
/* Before the hold only. */
void make_room(struct sender_table *table, double at);
void use_room(struct sender_table *table, double at);
/* Where senders without a place are counted. */
struct crowd *crowd_of(struct sender_table *table);
double crowd_size(const struct sender_table *table);

#endif
