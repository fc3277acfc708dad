/* One request and its answer, over a connection of its own, without blocking: driven by its caller's loop. */
#pragma once

#include "../kernel/address.h"
#include "http.h"

#include <poll.h>

enum { MOST_REQUEST = 4096, MOST_ANSWER = 4096 };

enum exchanged { EXCHANGE_IDLE, EXCHANGE_GOING, EXCHANGE_ANSWERED, EXCHANGE_FAILED };

struct exchange {
	int fd; /* -1 while idle */
	bool connected;
	double ends;	  /* the time at which it is given up */
	double timeout_ms; /* for the answer */
	double read_from; /* not read before this time, so that a server that sends byte by byte is read in batches */
	size_t to_send, sent, received;
	char request[MOST_REQUEST];
	char data[MOST_ANSWER];
};

/* `request` of `length` bytes is in place. The answer has `timeout_ms` from when it is connected. False where there is not even a socket. */
bool exchange_begin(struct exchange *exchange, const struct address *address, uint16_t port, size_t length, double timeout_ms,
		    double now);

/* After an answer or a failure it is idle again. */
enum exchanged exchange_step(struct exchange *exchange, struct http_answer *answer, double now);

struct pollfd exchange_descriptor(const struct exchange *exchange, double now);

void exchange_end(struct exchange *exchange);
