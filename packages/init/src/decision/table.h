/* Senders by name, as many as have a place. */
#ifndef LAMEDUCK_TABLE_H
#define LAMEDUCK_TABLE_H

#include "senders.h"

/* While the table overflows only those that made so many gaps are separate. */
extern const double fewest_once_overflowed;

/* NULL where there is none of this name. */
struct sender *table_find(const struct sender_table *table, const char *name);
/* NULL when memory is short: the arrival is then the aggregate's alone. */
struct sender *table_add(struct sender_table *table, const char *name, double at);
void table_remove(struct sender_table *table, struct sender *sender);
bool table_is_full(const struct sender_table *table);
/* For a newcomer, before the hold: those that have long fallen silent go; where there are none, those that come seldom. */
void table_make_room(struct sender_table *table, double at);
bool table_has_overflowed(const struct sender_table *table, double at);

#endif
