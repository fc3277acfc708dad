#include "table.h"

#include <stdlib.h>
#include <string.h>

struct sender *table_find(const struct sender_table *table, const char *name, uint32_t hash)
{
	if (table->index_size == 0)
		return NULL;
	for (size_t slot = hash;; slot++) {
		uint32_t position = table->index[slot & (table->index_size - 1)];
		if (position == 0)
			return NULL;
		if (strcmp(table->senders[position - 1].name, name) == 0)
			return &table->senders[position - 1];
	}
}

static void enter(struct sender_table *table, size_t position)
{
	size_t slot = table->senders[position].hash;
	while (table->index[slot & (table->index_size - 1)] != 0)
		slot++;
	table->index[slot & (table->index_size - 1)] = (uint32_t)(position + 1);
}

void table_reindex(struct sender_table *table)
{
	memset(table->index, 0, table->index_size * sizeof *table->index);
	for (size_t i = 0; i < table->count; i++)
		enter(table, i);
}

static bool grow(struct sender_table *table)
{
	size_t allocated = table->allocated ? table->allocated * 2 : 16;
	struct sender *senders = realloc(table->senders, allocated * sizeof *senders);
	if (!senders)
		return false;
	table->senders = senders;
	uint32_t *index = realloc(table->index, allocated * 2 * sizeof *index);
	if (!index)
		return false;
	table->index = index;
	table->allocated = allocated;
	table->index_size = allocated * 2;
	table_reindex(table);
	return true;
}

bool table_add(struct sender_table *table, const char *name, uint32_t hash, double at, double rate)
{
	if (table->count == table->allocated && !grow(table))
		return false;
	char *copy = strdup(name);
	if (!copy)
		return false;
	table->senders[table->count] =
	    (struct sender){ .name = copy, .hash = hash, .last = at, .paused = table->paused, .rate = rate };
	enter(table, table->count++);
	return true;
}
