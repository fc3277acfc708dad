/*
 * The part of the kernel's stable sock_diag interface that is used here, written out because musl brings no kernel headers:
 * linux/netlink.h, sock_diag.h, inet_diag.h, tcp.h.
 */
#ifndef LAMEDUCK_NETLINK_ABI_H
#define LAMEDUCK_NETLINK_ABI_H

#include <stdint.h>
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
	INFO_BYTES_ACKED = 120,
	INFO_BYTES_RECEIVED = 128,
	INFO_NOTSENT_BYTES = 144,
	INFO_DATA_SEGS_IN = 152,
};

#endif
