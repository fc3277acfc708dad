#include "release.h"

#include <math.h>
#include <string.h>

/* A new connection so long after the release, ms, was on its way when the last consumer let go. */
static const double on_its_way = 100;

void release_init(struct release *release, double settle)
{
	*release = (struct release){ .settle = settle, .latest = -INFINITY, .surest = -INFINITY };
}

static void compare(struct release *release)
{
	if (release->overruled || !release->given || release->surest <= release->given_at + on_its_way)
		return;
	release->overruled = true;
	release->overruled_at = release->surest_at;
	memcpy(release->overruled_by, release->surest_sender, sizeof release->overruled_by);
}

void release_give(struct release *release, double at)
{
	release->local = false;
	if (!release->given)
		release->given_at = at;
	release->given = true;
	compare(release);
}

void release_withdraw(struct release *release, bool local)
{
	release->local = local;
	release->given = false;
}

void release_connection(struct release *release, const char *sender, double at, double earlier)
{
	release->latest = fmax(release->latest, at);
	if (at - earlier < release->surest)
		return;
	release->surest = at - earlier;
	release->surest_at = at;
	size_t length = strnlen(sender, RELEASE_SENDER - 1);
	memcpy(release->surest_sender, sender, length);
	release->surest_sender[length] = '\0';
	compare(release);
}

void release_forget(struct release *release, const char *sender)
{
	if (strncmp(release->overruled_by, sender, RELEASE_SENDER - 1) == 0)
		release->overruled = false;
	if (strncmp(release->surest_sender, sender, RELEASE_SENDER - 1) == 0)
		release->surest = release->latest = -INFINITY;
}

bool release_stands(const struct release *release)
{
	return release->given && !release->overruled;
}

double release_settled_at(const struct release *release)
{
	return release_stands(release) ? fmax(release->given_at, release->latest) + release->settle : INFINITY;
}
