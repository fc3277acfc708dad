#include "namespace.h"

#include "netlink.h"
#include "../base/files.h"
#include "../base/text.h"

#include <math.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

bool is_host_network(void)
{
	/* The kernel registers this setting in the first network namespace alone. */
	return access("/proc/sys/net/core/netdev_budget", F_OK) == 0;
}

bool parse_default_gateway(const char *text, struct address *gateway)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* Interface, destination, gateway; separated by tabs. */
		const char *at = strchr(line, '\t');
		uint32_t destination, address; /* printed as numbers in the order of this machine */
		if (at && (at = read_hex(at + 1, 8, &destination)) && (at = expect(at, '\t')) &&
		    read_hex(at, 8, &address) && destination == 0 && address != 0) {
			*gateway = address_from(AF_INET, &address);
			return true;
		}
	}
	return false;
}

bool default_gateway(struct address *gateway)
{
	char text[4096];
	return read_file("/proc/net/route", text, sizeof text) > 0 && parse_default_gateway(text, gateway);
}

/* Hundredths of a second since boot at which the oldest address so far was made; 0 where there is none. */
static uint32_t oldest_stamp(struct netlink_part datagram, uint32_t oldest, bool *done)
{
	enum { ADDRESS_MESSAGE = 8, CREATED_AT = 8 }; /* struct ifaddrmsg; in struct ifa_cacheinfo */
	struct netlink_header header;
	struct netlink_part body, value;
	uint16_t type;
	uint32_t stamp;
	while (!*done && next_message(&datagram, &header, &body)) {
		*done = header.type == MESSAGE_DONE || header.type == MESSAGE_ERROR;
		netlink_skip(&body, ADDRESS_MESSAGE);
		while (!*done && next_attribute(&body, &type, &value)) {
			if (type != ATTRIBUTE_ADDRESS_CACHE || value.left < CREATED_AT + sizeof stamp)
				continue;
			memcpy(&stamp, value.at + CREATED_AT, sizeof stamp);
			if (stamp != 0 && (oldest == 0 || stamp < oldest))
				oldest = stamp;
		}
	}
	return oldest;
}

double namespace_age(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE_FAMILY);
	if (fd < 0)
		return NAN;
	const struct timeval timeout = { .tv_sec = 1 };
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	struct {
		struct netlink_header header;
		uint8_t family_and_padding[16];
	} request = { .header = { .length = sizeof request,
				  .type = MESSAGE_GET_ADDRESSES,
				  .flags = FLAG_REQUEST | FLAG_DUMP } };
	uint32_t oldest = 0;
	bool done = send(fd, &request, sizeof request, 0) < 0;
	while (!done) {
		uint8_t datagram[16384];
		ssize_t got = recv(fd, datagram, sizeof datagram, 0);
		if (got <= 0)
			break;
		oldest = oldest_stamp((struct netlink_part){ datagram, (size_t)got }, oldest, &done);
	}
	close(fd);
	struct timespec up;
	clock_gettime(CLOCK_MONOTONIC, &up);
	return oldest ? fmax(0, (double)up.tv_sec + (double)up.tv_nsec / 1e9 - oldest / 100.0) : NAN;
}
