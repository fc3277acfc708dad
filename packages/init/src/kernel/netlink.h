/*
 * The part of the kernel's stable netlink interface that is used here, written out because musl brings no kernel headers: linux/netlink.h, sock_diag.h,
 * inet_diag.h, tcp.h. And the walk over messages and attributes, within their bounds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum {
	NETLINK_ROUTE_FAMILY = 0,
	NETLINK_SOCK_DIAG_FAMILY = 4,
	MESSAGE_ERROR = 2,
	MESSAGE_DONE = 3,
	MESSAGE_GET_ADDRESSES = 22,
	MESSAGE_SOCK_DIAG_BY_FAMILY = 20,
	FLAG_REQUEST = 0x1,
	FLAG_DUMP = 0x300,
	GROUPS_TCP_DESTROY = 1 << 0 | 1 << 2, /* both families: IPv4 peers of a dual-stack listener are in the second */
	ATTRIBUTE_TCP_INFO = 2,
	ATTRIBUTE_ADDRESS_CACHE = 6,
};

struct netlink_address {
	uint16_t family;
	uint16_t padding;
	uint32_t port;
	uint32_t groups;
};

struct netlink_header {
	uint32_t length;
	uint16_t type;
	uint16_t flags;
	uint32_t sequence;
	uint32_t port;
};

struct netlink_attribute {
	uint16_t length;
	uint16_t type;
};

struct diag_socket_id {
	uint16_t source_port; /* network order, as are the next three */
	uint16_t destination_port;
	uint32_t source[4];
	uint32_t destination[4];
	uint32_t interface;
	uint32_t cookie[2];
};

struct diag_request {
	uint8_t family;
	uint8_t protocol;
	uint8_t extensions;
	uint8_t padding;
	uint32_t states;
	struct diag_socket_id id;
};

struct diag_message {
	uint8_t family;
	uint8_t state;
	uint8_t timer;
	uint8_t retransmits;
	struct diag_socket_id id;
	uint32_t expires;
	uint32_t read_queue;
	uint32_t write_queue;
	uint32_t uid;
	uint32_t inode;
};

/* Byte offsets in struct tcp_info; older kernels send a shorter one. */
enum {
	INFO_UNACKED = 24,
	INFO_LAST_DATA_SENT = 44,
	INFO_LAST_DATA_RECV = 52,
	INFO_LAST_ACK_RECV = 56,
	INFO_BYTES_ACKED = 120,
	INFO_BYTES_RECEIVED = 128,
	INFO_NOTSENT_BYTES = 144,
	INFO_DATA_SEGS_IN = 152,
};

/* Bytes that are left to read. */
struct netlink_part {
	const uint8_t *at;
	size_t left;
};

static inline void netlink_skip(struct netlink_part *part, size_t length)
{
	size_t step = (length + 3) & ~(size_t)3;
	*part = step < part->left ? (struct netlink_part){ part->at + step, part->left - step } : (struct netlink_part){ NULL, 0 };
}

/* The next message of a datagram. One that is out of bounds is a MESSAGE_ERROR. */
static inline bool next_message(struct netlink_part *datagram, struct netlink_header *header, struct netlink_part *body)
{
	if (datagram->left < sizeof *header)
		return false;
	memcpy(header, datagram->at, sizeof *header);
	if (header->length < sizeof *header || header->length > datagram->left)
		*header = (struct netlink_header){ .type = MESSAGE_ERROR, .length = sizeof *header };
	*body = (struct netlink_part){ datagram->at + sizeof *header, header->length - sizeof *header };
	netlink_skip(datagram, header->length);
	return true;
}

static inline bool next_attribute(struct netlink_part *attributes, uint16_t *type, struct netlink_part *value)
{
	struct netlink_attribute attribute;
	if (attributes->left < sizeof attribute)
		return false;
	memcpy(&attribute, attributes->at, sizeof attribute);
	if (attribute.length < sizeof attribute || attribute.length > attributes->left)
		return false;
	*type = attribute.type;
	*value = (struct netlink_part){ attributes->at + sizeof attribute, attribute.length - sizeof attribute };
	netlink_skip(attributes, attribute.length);
	return true;
}
