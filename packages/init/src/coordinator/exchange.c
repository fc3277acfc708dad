#include "exchange.h"

#include "socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static const double connect_timeout_ms = 1000;
static const double batch_ms = 10;

bool exchange_begin(struct exchange *exchange, const struct address *address, uint16_t port, size_t length, double timeout_ms,
		    double now)
{
	exchange->fd = connect_to(address, port, SOCK_STREAM);
	exchange->connected = false;
	exchange->ends = now + connect_timeout_ms;
	exchange->timeout_ms = timeout_ms;
	exchange->read_from = now;
	exchange->to_send = length;
	exchange->sent = exchange->received = 0;
	return exchange->fd >= 0;
}

void exchange_end(struct exchange *exchange)
{
	if (exchange->fd >= 0)
		close(exchange->fd);
	exchange->fd = -1;
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static enum exchanged send_more(struct exchange *exchange)
{
	while (exchange->sent < exchange->to_send) {
		ssize_t sent = send(exchange->fd, exchange->request + exchange->sent, exchange->to_send - exchange->sent,
				    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0)
			return would_block() ? EXCHANGE_GOING : EXCHANGE_FAILED;
		exchange->sent += (size_t)sent;
	}
	return EXCHANGE_GOING;
}

static enum exchanged receive_more(struct exchange *exchange, struct http_answer *answer, double now)
{
	size_t room = sizeof exchange->data - exchange->received;
	ssize_t got = recv(exchange->fd, exchange->data + exchange->received, room, MSG_DONTWAIT);
	if (got < 0)
		return would_block() ? EXCHANGE_GOING : EXCHANGE_FAILED;
	exchange->received += (size_t)got;
	exchange->read_from = now + batch_ms;
	switch (http_parse(exchange->data, exchange->received, got == 0, answer)) {
	case HTTP_WHOLE:
		return EXCHANGE_ANSWERED;
	case HTTP_BAD:
		return EXCHANGE_FAILED;
	case HTTP_MORE:
		return exchange->received < sizeof exchange->data ? EXCHANGE_GOING : EXCHANGE_FAILED;
	}
	return EXCHANGE_FAILED;
}

static enum exchanged step(struct exchange *exchange, struct http_answer *answer, double now)
{
	if (now >= exchange->ends)
		return EXCHANGE_FAILED;
	if (!exchange->connected) {
		int connected = is_connected(exchange->fd);
		if (connected <= 0)
			return connected < 0 ? EXCHANGE_FAILED : EXCHANGE_GOING;
		exchange->connected = true;
		exchange->ends = now + exchange->timeout_ms;
	}
	if (exchange->sent < exchange->to_send)
		return send_more(exchange);
	return now < exchange->read_from ? EXCHANGE_GOING : receive_more(exchange, answer, now);
}

enum exchanged exchange_step(struct exchange *exchange, struct http_answer *answer, double now)
{
	if (exchange->fd < 0)
		return EXCHANGE_IDLE;
	enum exchanged exchanged = step(exchange, answer, now);
	if (exchanged != EXCHANGE_GOING)
		exchange_end(exchange);
	return exchanged;
}

struct pollfd exchange_descriptor(const struct exchange *exchange, double now)
{
	bool sending = exchange->sent < exchange->to_send;
	bool asleep = !sending && now < exchange->read_from;
	return (struct pollfd){ .fd = asleep ? -1 : exchange->fd, .events = sending ? POLLOUT : POLLIN };
}
