#include "lookup.h"

#include "../base/random.h"
#include "socket.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The time until a question is asked again, of the next server. */
static const double timeout_ms = 500;
enum { MOST_TRIES = 6, DNS_PORT = 53 };

void lookup_end(struct lookup *lookup)
{
	if (lookup->fd >= 0)
		close(lookup->fd);
	lookup->fd = -1;
}

void lookup_begin(struct lookup *lookup, const char *host)
{
	*lookup = (struct lookup){ .host = host, .fd = -1, .again_at = -INFINITY, .type = DNS_A };
	struct address *address = lookup->found.all;
	lookup->known = address_parse(host, address) || hosts_find("/etc/hosts", host, address);
	lookup->found.count = lookup->known;
	resolver_read(&lookup->resolver, "/etc/resolv.conf");
}

/* The socket is connected, so that the kernel accepts answers of this server only. Each question has a port of its own. */
static void ask(struct lookup *lookup, double now)
{
	lookup_end(lookup);
	if (lookup->tries++ > 0)
		lookup->server++;
	const struct address *server = &lookup->resolver.servers[lookup->server % lookup->resolver.server_count];
	lookup->again_at = now + timeout_ms;
	lookup->fd = connect_to(server, DNS_PORT, SOCK_DGRAM);
	if (lookup->fd >= 0 && send(lookup->fd, lookup->question, lookup->asked, MSG_NOSIGNAL) < 0)
		lookup_end(lookup);
}

/* False after the last name. */
static bool write_question(struct lookup *lookup)
{
	char name[DNS_NAME];
	while (resolver_name(&lookup->resolver, lookup->host, lookup->name, name)) {
		lookup->asked = dns_question(lookup->question, (uint16_t)random_number(), name, lookup->type);
		if (lookup->asked > 0)
			return true;
		lookup->name++;
	}
	return false;
}

/* Addresses of the other family, or the next name. */
static void go_on(struct lookup *lookup, bool other_type)
{
	if (other_type && lookup->type == DNS_A) {
		lookup->type = DNS_AAAA;
	} else {
		lookup->type = DNS_A;
		lookup->name++;
	}
	lookup->tries = 0;
	lookup->again_at = -INFINITY;
}

static enum dns_result receive(struct lookup *lookup)
{
	uint8_t data[DNS_MESSAGE];
	ssize_t got = lookup->fd >= 0 ? recv(lookup->fd, data, sizeof data, MSG_DONTWAIT) : -1;
	if (got >= 0)
		return dns_answer(lookup->question, lookup->asked, data, (size_t)got, &lookup->found);
	/* The server's port is closed (ECONNREFUSED). The next try comes when it is due. */
	if (lookup->fd >= 0 && errno != EAGAIN && errno != EINTR)
		lookup_end(lookup);
	return DNS_FOREIGN;
}

enum lookup_state lookup_step(struct lookup *lookup, double now)
{
	if (lookup->known)
		return LOOKUP_FOUND;
	switch (receive(lookup)) {
	case DNS_FOUND:
		lookup_end(lookup);
		return LOOKUP_FOUND;
	case DNS_NO_ADDRESS:
		go_on(lookup, true);
		break;
	case DNS_NO_NAME:
		go_on(lookup, false);
		break;
	case DNS_REFUSED:
		lookup_end(lookup);
		break;
	case DNS_FOREIGN:
		break;
	}
	if (now < lookup->again_at)
		return LOOKUP_GOING;
	if (lookup->tries == MOST_TRIES || (lookup->tries == 0 && !write_question(lookup))) {
		lookup_end(lookup);
		return LOOKUP_FAILED;
	}
	ask(lookup, now);
	return LOOKUP_GOING;
}
