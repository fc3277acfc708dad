#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A pod may have no IPv6 at all: IPv4 has a socket of its own family. */
static socklen_t socket_address(const struct address *address, uint16_t port, struct sockaddr_storage *storage)
{
	memset(storage, 0, sizeof *storage);
	if (address_is_ipv4(address)) {
		struct sockaddr_in *ipv4 = (struct sockaddr_in *)storage;
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons(port);
		memcpy(&ipv4->sin_addr, address->bytes + 12, 4);
		return sizeof *ipv4;
	}
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)storage;
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = htons(port);
	memcpy(&ipv6->sin6_addr, address->bytes, 16);
	return sizeof *ipv6;
}

int connect_to(const struct address *address, uint16_t port, int type)
{
	struct sockaddr_storage storage;
	socklen_t size = socket_address(address, port, &storage);
	int fd = socket(storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&storage, size) == 0 || errno == EINPROGRESS)
		return fd;
	close(fd);
	return -1;
}

int is_connected(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t size = sizeof error;
	if (poll(&polled, 1, 0) <= 0)
		return 0;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0 ? 1 : -1;
}
