/* Senders by name; which of them have a place in the table, and how many have none. */
#ifndef LAMEDUCK_TABLE_H
#define LAMEDUCK_TABLE_H

#include "senders.h"

/* NULL where there is none of this name, whose hash it is. */
struct sender *table_find(const struct sender_table *table, const char *name, uint32_t hash);
/* False when memory is short: the caller then counts the arrival with the crowd. */
bool table_add(struct sender_table *table, const char *name, uint32_t hash, double at, double rate);
/* To be called when senders have moved or gone. */
void table_reindex(struct sender_table *table);

bool is_full(const struct sender_table *table);
/* Before the hold only. */
void make_room(struct sender_table *table, double at);
void use_room(struct sender_table *table, double at);
/* Where senders without a place are counted. */
struct crowd *crowd_of(struct sender_table *table);
double crowd_size(const struct sender_table *table);

#endif
