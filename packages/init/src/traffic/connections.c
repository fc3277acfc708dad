#include "connections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t hash_of(const struct address *peer, uint16_t peer_port, uint16_t local_port)
{
	uint64_t words[2];
	memcpy(words, peer->bytes, sizeof words);
	uint64_t hash = words[0] ^ (words[1] * 0x9e3779b97f4a7c15u) ^ ((uint64_t)peer_port << 16 | local_port);
	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9u;
	return (size_t)(hash ^ hash >> 32);
}

static bool is(const struct connection *slot, const struct tcp_row *row)
{
	return slot->peer_port == row->peer_port && slot->local_port == row->local_port && !slot->removed &&
	       address_equal(&slot->peer, &row->peer);
}

static void remove_connection(struct connections *connections, struct connection *connection)
{
	connection->removed = true;
	connections->count--;
}

/* The bytes of one connection never become fewer. */
static bool is_of_earlier(const struct connection *slot, const struct tcp_row *row)
{
	return row->has_info && row->bytes_received < slot->bytes;
}

struct connection *connections_find(struct connections *connections, const struct tcp_row *row)
{
	if (connections->size == 0)
		return NULL;
	for (size_t at = hash_of(&row->peer, row->peer_port, row->local_port);; at++) {
		struct connection *slot = &connections->slots[at & (connections->size - 1)];
		if (slot->peer_port == 0)
			return NULL;
		if (!is(slot, row))
			continue;
		if (!is_of_earlier(slot, row))
			return slot;
		remove_connection(connections, slot);
		return NULL;
	}
}

static struct connection *free_slot(struct connection *slots, size_t size, const struct address *peer,
				    uint16_t peer_port, uint16_t local_port)
{
	size_t at = hash_of(peer, peer_port, local_port);
	while (slots[at & (size - 1)].peer_port != 0)
		at++;
	return &slots[at & (size - 1)];
}

/* Doubles the table, or only clears it of removed entries where those are what fills it. */
static bool make_room(struct connections *connections)
{
	size_t size = connections->size;
	if (size == 0)
		size = 256;
	else if (connections->count * 2 > connections->size)
		size *= 2;
	struct connection *slots = calloc(size, sizeof *slots);
	if (!slots)
		return false;
	for (size_t i = 0; i < connections->size; i++) {
		const struct connection *old = &connections->slots[i];
		if (old->peer_port != 0 && !old->removed)
			*free_slot(slots, size, &old->peer, old->peer_port, old->local_port) = *old;
	}
	free(connections->slots);
	connections->slots = slots;
	connections->size = size;
	connections->used = connections->count;
	return true;
}

struct connection *connections_add(struct connections *connections, const struct tcp_row *row)
{
	if (connections->used * 4 >= connections->size * 3 && !make_room(connections))
		return NULL;
	struct connection *slot =
		free_slot(connections->slots, connections->size, &row->peer, row->peer_port, row->local_port);
	*slot = (struct connection){ .peer = row->peer,
				     .peer_port = row->peer_port,
				     .local_port = row->local_port,
				     .undecided_since = NAN,
				     .accepted_at = NAN,
				     .active_since = NAN };
	connections->used++;
	connections->count++;
	return slot;
}

bool connections_take(struct connections *connections, const struct tcp_row *row, struct connection *taken)
{
	struct connection *connection = connections_find(connections, row);
	if (!connection)
		return false;
	*taken = *connection;
	remove_connection(connections, connection);
	return true;
}

/* An event reports the end of a connection, sometimes shortly after the dump that no longer finds it. */
enum { KEPT_DUMPS = 2 };

void connections_sweep(struct connections *connections, uint16_t generation)
{
	for (size_t i = 0; i < connections->size; i++) {
		struct connection *slot = &connections->slots[i];
		if (slot->peer_port != 0 && !slot->removed && (uint16_t)(generation - slot->generation) >= KEPT_DUMPS)
			remove_connection(connections, slot);
	}
}

void connections_free(struct connections *connections)
{
	free(connections->slots);
	*connections = (struct connections){ 0 };
}
