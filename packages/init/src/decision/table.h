/* Senders by name, as many as have a place. */
#ifndef LAMEDUCK_TABLE_H
#define LAMEDUCK_TABLE_H

#include "senders.h"

/* In a crowd only those that made so many gaps are told apart. */
extern const double fewest_in_crowd;

/* NULL where there is none of this name. */
struct sender *table_find(const struct sender_table *table, const char *name);
/* False when memory is short: the caller then counts the arrival with the others. */
bool table_add(struct sender_table *table, const char *name, double at, double rate);
void table_remove(struct sender_table *table, struct sender *sender);
bool table_is_full(const struct sender_table *table);
/* For a newcomer, before the hold: those that have long fallen silent go; and in a crowd those that come seldom. */
void table_make_room(struct sender_table *table, double at);
bool table_is_crowded(const struct sender_table *table, double at);

#endif
