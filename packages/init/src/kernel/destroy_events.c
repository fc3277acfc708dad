#include "destroy_events.h"

#include "netlink_abi.h"
#include "sock_diag.h"

#include <errno.h>
#include <unistd.h>

int subscribe_to_destroyed(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG_FAMILY);
	if (fd < 0)
		return -1;
	/* As much as an unprivileged process may have: some 300 events, 10 ms at 30,000 connections per second. */
	const int buffer = 4 << 20;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
	const struct netlink_address groups = { .family = AF_NETLINK, .groups = GROUPS_TCP_DESTROY };
	if (bind(fd, (const struct sockaddr *)&groups, sizeof groups) == 0)
		return fd;
	close(fd);
	return -1;
}

bool read_destroyed(int fd, tcp_row_visitor *visit, void *context)
{
	/* What comes faster than it is read must not keep PID 1 from its signals: the rest is read at the next turn. */
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
