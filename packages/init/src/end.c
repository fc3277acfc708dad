#include "end.h"

#include "base/clock.h"
#include "base/text.h"
#include "decision/duration.h"
#include "process/holders.h"

#include <math.h>
#include <poll.h>

enum { ENDED = 0, NOTHING_HELD = 1, NOT_ENDED = 4 };

/* ms. A holder looks every 100 ms, unless it has no processor. */
static const double longest_wait_ms = 5000;
static const int poll_interval_ms = 20;

/* Holds that are going on; a hook's file stays where it was killed. */
static size_t going_on(struct holder holders[MOST_HOLDERS])
{
	size_t count = holders_read(holders), left = 0;
	for (size_t i = 0; i < count; i++) {
		struct main_process process = process_of(holders[i].pid);
		if (holders[i].began > 0 && holders[i].ended == 0 && process.started > 0)
			holders[left++] = holders[i];
	}
	return left;
}

static bool is_among(const struct holder *holder, const struct holder *holders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (holders[i].pid == holder->pid && holders[i].began == holder->began)
			return true;
	return false;
}

static void say(const struct logger *logger, const struct holder *holder, const char *what, double now)
{
	char fields[160], text[160], held[32];
	struct writer field = { fields, sizeof fields }, line = { text, sizeof text };
	text_add(&field, "\"event\":\"%s\",\"program\":\"%s\",\"pid\":%d,\"hold_ms\":%.0f", what, holder->program, (int)holder->pid,
		 now - holder->began);
	text_add(&line, "%s: the hold of %s, PID %d, after %s", what, holder->program, (int)holder->pid,
		 format_duration(floor(now - holder->began), held, sizeof held));
	log_with(logger, LOG_NOTE, fields, text);
}

int run_end(const struct logger *logger)
{
	struct holder asked[MOST_HOLDERS], left[MOST_HOLDERS];
	size_t count = going_on(asked), open = count;
	double until = clock_now() + longest_wait_ms;
	if (count == 0) {
		log_with(logger, LOG_NOTE, "\"event\":\"nothing-held\"", "nothing is held in this container");
		return NOTHING_HELD;
	}
	for (size_t i = 0; i < count; i++)
		if (!holder_ask_to_end(&asked[i]))
			log_line(logger, LOG_ERROR, "cannot tell PID %d: /dev/shm cannot be written", (int)asked[i].pid);
	while (open > 0 && clock_now() < until) {
		poll(NULL, 0, poll_interval_ms);
		open = going_on(left);
	}
	int code = ENDED;
	for (size_t i = 0; i < count; i++) {
		bool ended = !is_among(&asked[i], left, open);
		say(logger, &asked[i], ended ? "ended" : "not-ended", clock_now());
		code = ended ? code : NOT_ENDED;
	}
	return code;
}
