#include "coordinator.h"

#include "../base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Seconds that the coordinator may wait with its answer, and ms that we wait longer. */
enum { WAIT_SECONDS = 20 };
static const double grace = 2000;
static const double telling_patience = 2000;
static const double first_pause = 500;
static const double longest_pause = 4000;
/* ms, after which a lookup that goes on counts as silence. */
static const double longest_lookup = 1000;
/* An answer that says nothing new comes no more often. */
static const double least_pause = 250;

void coordinator_begin(struct coordinator *coordinator, const struct where *where, const struct logger *logger, double now)
{
	coordinator->where = where;
	coordinator->logger = logger;
	coordinator->on = where->url != NULL;
	coordinator->found = coordinator->looking = coordinator->silent = false;
	coordinator->said = (struct said){ .state = SAID_NOTHING, .withdrawn = NAN, .released = NAN };
	coordinator->ask_at = coordinator->retry_at = now;
	coordinator->tell_until = INFINITY;
	coordinator->pause = first_pause;
	coordinator->message[0] = '\0';
	coordinator->lookup.fd = -1;
	exchange_init(&coordinator->asking);
	exchange_init(&coordinator->telling);
}

/* Nothing more is tried for some time. */
static void failed(struct coordinator *coordinator, const char *what, double now)
{
	log_line(coordinator->logger, LOG_DETAIL, "coordinator %s: %s", coordinator->where->url, what);
	coordinator->retry_at = now + coordinator->pause;
	coordinator->pause = fmin(longest_pause, 2 * coordinator->pause);
	/* It may have moved. */
	coordinator->found = false;
}

static void unanswered(struct coordinator *coordinator, const char *what, double now)
{
	coordinator->silent = true;
	failed(coordinator, what, now);
}

/* Looks it up, as often as it takes. */
static void find(struct coordinator *coordinator, double now)
{
	if (coordinator->found || now < coordinator->retry_at)
		return;
	if (!coordinator->looking) {
		lookup_begin(&coordinator->lookup, coordinator->where->host);
		coordinator->looked_since = now;
	}
	coordinator->looking = false;
	switch (lookup_step(&coordinator->lookup, now)) {
	case LOOKING:
		coordinator->looking = true;
		coordinator->silent = coordinator->silent || now - coordinator->looked_since > longest_lookup;
		break;
	case LOOKED_FOUND:
		coordinator->found = true;
		break;
	case LOOKED_IN_VAIN:
		unanswered(coordinator, "no address", now);
		break;
	}
}

static struct writer request_line(const struct coordinator *coordinator, struct exchange *exchange, const char *method,
				  const char *more)
{
	const struct where *where = coordinator->where;
	struct writer text = { exchange->request, sizeof exchange->request };
	text_add(&text, "%s /v1/pods/%s/%s?uid=%s%s HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n", method,
		 where->pod_namespace, where->pod, where->pod_uid, more, where->authority_length, where->authority);
	return text;
}

static void begin(struct coordinator *coordinator, struct exchange *exchange, const struct writer *request, double patience,
		  double now)
{
	size_t length = (size_t)(request->at - exchange->request);
	if (!exchange_begin(exchange, &coordinator->lookup.address, coordinator->where->port, length, patience, now))
		failed(coordinator, "no connection", now);
}

static void ask(struct coordinator *coordinator, double now)
{
	char query[64] = "&wait=0";
	/* After silence it is asked for the state as it is. */
	bool at_once = coordinator->said.state == SAID_NOTHING || coordinator->silent;
	if (!at_once)
		snprintf(query, sizeof query, "&wait=%d&seen=%s", WAIT_SECONDS, said_state_names[coordinator->said.state]);
	struct writer request = request_line(coordinator, &coordinator->asking, "GET", query);
	text_add(&request, "\r\n");
	coordinator->ask_at = now + least_pause;
	begin(coordinator, &coordinator->asking, &request, (at_once ? 0 : WAIT_SECONDS * 1000) + grace, now);
}

static void tell(struct coordinator *coordinator, double now)
{
	struct writer request = request_line(coordinator, &coordinator->telling, "POST", "");
	text_add(&request, "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s", strlen(coordinator->message),
		 coordinator->message);
	begin(coordinator, &coordinator->telling, &request, telling_patience, now);
}

static void hear(struct coordinator *coordinator, double now)
{
	struct said said;
	switch (exchange_step(&coordinator->asking, &coordinator->answer, now)) {
	case EXCHANGE_ANSWERED:
		if (coordinator->answer.status != 200 || !said_parse(coordinator->answer.body, &said)) {
			unanswered(coordinator, "an answer that is not understood", now);
			break;
		}
		coordinator->said = said;
		coordinator->silent = false;
		coordinator->pause = first_pause;
		break;
	case EXCHANGE_FAILED:
		unanswered(coordinator, "no answer", now);
		break;
	case EXCHANGE_IDLE:
		if (coordinator->found && now >= coordinator->ask_at)
			ask(coordinator, now);
		break;
	case EXCHANGE_GOING:
		break;
	}
}

static void say(struct coordinator *coordinator, double now)
{
	switch (exchange_step(&coordinator->telling, &coordinator->answer, now)) {
	case EXCHANGE_ANSWERED:
		coordinator->message[0] = '\0';
		break;
	case EXCHANGE_FAILED:
		failed(coordinator, "not told", now);
		break;
	case EXCHANGE_IDLE:
		if (coordinator->found && coordinator->message[0])
			tell(coordinator, now);
		break;
	case EXCHANGE_GOING:
		break;
	}
}

void coordinator_step(struct coordinator *coordinator, double now)
{
	if (!coordinator->on)
		return;
	find(coordinator, now);
	hear(coordinator, now);
	say(coordinator, now);
}

void coordinator_descriptors(const struct coordinator *coordinator, double now,
			     struct pollfd descriptors[COORDINATOR_DESCRIPTORS])
{
	const struct pollfd nothing = { .fd = -1 };
	descriptors[0] = descriptors[1] = nothing;
	if (!coordinator->on)
		return;
	descriptors[0] = exchange_descriptor(&coordinator->asking, now);
	descriptors[1] = exchange_descriptor(&coordinator->telling, now);
	if (coordinator->looking)
		descriptors[0] = (struct pollfd){ .fd = coordinator->lookup.fd, .events = POLLIN };
}

void coordinator_tell(struct coordinator *coordinator, const char *message)
{
	if (!coordinator->on)
		return;
	exchange_end(&coordinator->telling);
	snprintf(coordinator->message, sizeof coordinator->message, "%s", message);
}

void coordinator_stop_asking(struct coordinator *coordinator, double tell_until)
{
	if (!coordinator->on)
		return;
	exchange_end(&coordinator->asking);
	coordinator->ask_at = INFINITY;
	coordinator->tell_until = tell_until;
}

bool coordinator_is_telling(const struct coordinator *coordinator, double now)
{
	return coordinator->on && coordinator->message[0] && now < coordinator->tell_until;
}

void coordinator_end(struct coordinator *coordinator)
{
	if (!coordinator->on)
		return;
	coordinator->on = false;
	lookup_end(&coordinator->lookup);
	exchange_end(&coordinator->asking);
	exchange_end(&coordinator->telling);
}
