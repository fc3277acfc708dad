#include "pooled_peers.h"

#include <math.h>
#include <string.h>

static struct pooled_peer fresh(const struct address *peer)
{
	return (struct pooled_peer){ .peer = *peer,
				.used = true,
				.last_opened = -INFINITY,
				.latest = -INFINITY,
				.active_since = NAN,
				.lasting_since = NAN };
}

void pooled_peers_init(struct pooled_peers *pooled_peers)
{
	memset(pooled_peers, 0, sizeof *pooled_peers);
	const struct address nobody = { { 0 } };
	pooled_peers->others = fresh(&nobody);
}

struct pooled_peer *pooled_peers_find(struct pooled_peers *pooled_peers, const struct address *peer)
{
	uint32_t hash = 2166136261u;
	for (unsigned i = 0; i < sizeof peer->bytes; i++)
		hash = (hash ^ peer->bytes[i]) * 16777619u;
	for (unsigned step = 0; step < MOST_POOLED_PEERS; step++) {
		struct pooled_peer *slot = &pooled_peers->slots[(hash + step) % MOST_POOLED_PEERS];
		if (slot->used && address_equal(&slot->peer, peer))
			return slot;
		if (slot->used)
			continue;
		if (pooled_peers->count >= MOST_POOLED_PEERS * 3 / 4)
			break;
		pooled_peers->count++;
		*slot = fresh(peer);
		return slot;
	}
	return &pooled_peers->others;
}
