/* One TCP socket as the kernel shows it, by any of its interfaces. */
#pragma once

#include "address.h"

enum tcp_state {
	STATE_ESTABLISHED = 1,
	STATE_SYN_SENT,
	STATE_SYN_RECV,
	STATE_FIN_WAIT1,
	STATE_FIN_WAIT2,
	STATE_TIME_WAIT,
	STATE_CLOSE,
	STATE_CLOSE_WAIT,
	STATE_LAST_ACK,
	STATE_LISTEN,
	STATE_CLOSING,
};

/* The kernel keeps a connection that our side closed first for this time. */
enum { TIME_WAIT_MS = 60000 };

struct tcp_row {
	struct address peer;
	uint16_t local_port;
	uint16_t peer_port;
	uint8_t state;
	uint32_t unread; /* bytes; of a listener: connections not accepted yet */
	uint32_t inode;
	uint8_t resent; /* how often in a row what is not acknowledged was sent again, for want of any answer */
	uint32_t expires; /* TIME_WAIT: ms until it is forgotten */
	bool has_info;	  /* the fields below are known */
	uint32_t since_sent_ms;
	uint32_t since_received;
	uint32_t since_acknowledged; /* ms since an acknowledgement came */
	uint32_t unsent; /* bytes */
	uint32_t unacknowledged; /* segments */
	uint32_t segments_received; /* segments with payload */
	uint64_t bytes_received;
	uint64_t bytes_sent;
};

typedef void tcp_row_visitor(void *context, const struct tcp_row *row);
