#include "pressure.h"

#include "../base/files.h"
#include "../base/text.h"

#include <math.h>
#include <string.h>

static const double interval_ms = 500;
/* Pods that start take all of it for seconds. Where a processor is free at times it is a third at most. */
static const double high_share = 0.5;
static const double us_per_ms = 1000;

void pressure_begin(struct pressure *pressure)
{
	*pressure = (struct pressure){ .read_at = NAN };
}

/* The first line is "some avg10=0.00 avg60=0.00 avg300=0.00 total=49123440". */
static bool read_total(uint64_t *total)
{
	static const char key[] = "total=";
	char text[256];
	if (read_file("/proc/pressure/cpu", text, sizeof text) <= 0)
		return false;
	const char *at = strstr(text, key);
	return at && read_decimal(at + strlen(key), total);
}

bool pressure_is_high(struct pressure *pressure, double now)
{
	const struct pressure before = *pressure;
	if (now < before.read_at + interval_ms || !read_total(&pressure->total))
		return false;
	pressure->read_at = now;
	double waited_ms = (double)(pressure->total - before.total) / us_per_ms;
	return !isnan(before.read_at) && waited_ms > high_share * (now - before.read_at);
}
