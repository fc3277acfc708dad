#include "talkers.h"

#include <math.h>
#include <string.h>

static struct talker fresh(const struct address *peer)
{
	return (struct talker){ .peer = *peer,
				.used = true,
				.last_opened = -INFINITY,
				.latest = -INFINITY,
				.talking_since = NAN,
				.lasting_since = NAN };
}

void talkers_init(struct talkers *talkers)
{
	memset(talkers, 0, sizeof *talkers);
	const struct address nobody = { { 0 } };
	talkers->others = fresh(&nobody);
}

struct talker *talkers_find(struct talkers *talkers, const struct address *peer)
{
	uint32_t hash = 2166136261u;
	for (unsigned i = 0; i < sizeof peer->bytes; i++)
		hash = (hash ^ peer->bytes[i]) * 16777619u;
	for (unsigned step = 0; step < MOST_TALKERS; step++) {
		struct talker *slot = &talkers->slots[(hash + step) % MOST_TALKERS];
		if (slot->used && address_equal(&slot->peer, peer))
			return slot;
		if (slot->used)
			continue;
		if (talkers->count >= MOST_TALKERS * 3 / 4)
			break;
		talkers->count++;
		*slot = fresh(peer);
		return slot;
	}
	return &talkers->others;
}
