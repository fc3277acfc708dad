#include "sock_diag.h"

#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static uint32_t u32_at(const uint8_t *info, size_t length, size_t offset)
{
	uint32_t value = 0;
	if (offset + sizeof value <= length)
		memcpy(&value, info + offset, sizeof value);
	return value;
}

static uint64_t u64_at(const uint8_t *info, size_t length, size_t offset)
{
	uint64_t value = 0;
	if (offset + sizeof value <= length)
		memcpy(&value, info + offset, sizeof value);
	return value;
}

static void take_tcp_info(struct tcp_row *row, const uint8_t *info, size_t length)
{
	row->has_info = length >= INFO_DATA_SEGS_IN + 4;
	row->since_sent_ms = u32_at(info, length, INFO_LAST_DATA_SENT);
	row->since_received = u32_at(info, length, INFO_LAST_DATA_RECV);
	row->since_acknowledged = u32_at(info, length, INFO_LAST_ACK_RECV);
	row->unsent = u32_at(info, length, INFO_NOTSENT_BYTES);
	row->unacknowledged = u32_at(info, length, INFO_UNACKED);
	row->segments_received = u32_at(info, length, INFO_DATA_SEGS_IN);
	row->bytes_received = u64_at(info, length, INFO_BYTES_RECEIVED);
	row->bytes_sent = u64_at(info, length, INFO_BYTES_ACKED);
}

static bool take_message(struct tcp_row *row, struct netlink_part body)
{
	struct diag_message message;
	struct netlink_part value;
	uint16_t type;
	if (body.left < sizeof message)
		return false;
	memcpy(&message, body.at, sizeof message);
	if (message.family != AF_INET && message.family != AF_INET6)
		return false;
	*row = (struct tcp_row){
		.peer = address_from(message.family, message.id.destination),
		.local_port = ntohs(message.id.source_port),
		.peer_port = ntohs(message.id.destination_port),
		.state = message.state,
		.unread = message.read_queue,
		.inode = message.inode,
		.resent = message.retransmits,
		.expires = message.expires,
	};
	netlink_skip(&body, sizeof message);
	while (next_attribute(&body, &type, &value))
		if (type == ATTRIBUTE_TCP_INFO)
			take_tcp_info(row, value.at, value.left);
	return true;
}

enum diag_end parse_diag(const void *datagram, size_t length, tcp_row_visitor *visit, void *context)
{
	struct netlink_part rest = { datagram, length }, body;
	struct netlink_header header;
	while (next_message(&rest, &header, &body)) {
		struct tcp_row row;
		if (header.type == MESSAGE_DONE)
			return DIAG_DONE;
		if (header.type == MESSAGE_ERROR)
			return DIAG_ERROR;
		if (header.type == MESSAGE_SOCK_DIAG_BY_FAMILY && take_message(&row, body))
			visit(context, &row);
	}
	return DIAG_MORE;
}

static bool ask(int fd, int family, uint32_t states, bool with_info)
{
	struct {
		struct netlink_header header;
		struct diag_request request;
	} message = {
		.header = { .length = sizeof message,
			    .type = MESSAGE_SOCK_DIAG_BY_FAMILY,
			    .flags = FLAG_REQUEST | FLAG_DUMP },
		.request = { .family = (uint8_t)family,
			     .protocol = IPPROTO_TCP,
			     .extensions = with_info ? 1 << (ATTRIBUTE_TCP_INFO - 1) : 0,
			     .states = states },
	};
	const struct netlink_address kernel = { .family = AF_NETLINK };
	return sendto(fd, &message, sizeof message, 0, (const struct sockaddr *)&kernel, sizeof kernel) ==
	       (ssize_t)sizeof message;
}

static bool dump_family(int fd, int family, uint32_t states, bool with_info, tcp_row_visitor *visit, void *context)
{
	/* The kernel fills up to 32 KiB per datagram where the reader offers as much. That takes fewer calls. */
	static uint8_t datagram[32768];
	if (!ask(fd, family, states, with_info))
		return false;
	for (;;) {
		ssize_t got = recv(fd, datagram, sizeof datagram, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		enum diag_end end = parse_diag(datagram, (size_t)got, visit, context);
		if (end != DIAG_MORE)
			return end == DIAG_DONE;
	}
}

bool diag_dump(uint32_t states, bool with_info, tcp_row_visitor *visit, void *context)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG_FAMILY);
	if (fd < 0)
		return false;
	/* A kernel that never answers must not outlast the grace period. */
	const struct timeval timeout = { .tv_sec = 1 };
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	bool v4 = dump_family(fd, AF_INET, states, with_info, visit, context);
	/* IPv6 may be compiled out: then its dump fails, and there is nothing to see. */
	if (v4)
		dump_family(fd, AF_INET6, states, with_info, visit, context);
	close(fd);
	return v4;
}

int diag_subscribe_ended(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG_FAMILY);
	if (fd < 0)
		return -1;
	/* The largest buffer of an unprivileged process: some 300 events, 10 ms at 30,000 connections per second. */
	const int buffer = 4 << 20;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
	const struct netlink_address groups = { .family = AF_NETLINK, .groups = GROUPS_TCP_DESTROY };
	if (bind(fd, (const struct sockaddr *)&groups, sizeof groups) == 0)
		return fd;
	close(fd);
	return -1;
}

bool diag_read_ended(int fd, tcp_row_visitor *visit, void *context)
{
	/* Events that come faster than they are read must not keep PID 1 from its signals. The rest is read at the next turn. */
	enum { MOST_AT_ONCE = 4096 };
	uint8_t datagram[4096];
	bool complete = true;
	for (int read = 0; read < MOST_AT_ONCE; read++) {
		ssize_t got = recv(fd, datagram, sizeof datagram, 0);
		if (got > 0) {
			parse_diag(datagram, (size_t)got, visit, context);
		} else if (got < 0 && errno == ENOBUFS) {
			complete = false;
		} else if (got == 0 || errno != EINTR) {
			break;
		}
	}
	return complete;
}
