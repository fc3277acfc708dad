/* Whatever a netlink datagram holds, it is read within its bounds. */
#include "../src/kernel/sock_diag.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *context, const struct tcp_row *row)
{
	char text[ADDRESS_TEXT];
	*(size_t *)context += strlen(address_format(&row->peer, text)) + row->unread;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t sum = 0;
	/* A copy of just this size, so that the sanitizer sees the first byte beyond. */
	uint8_t *datagram = malloc(size ? size : 1);
	if (!datagram)
		return 0;
	memcpy(datagram, data, size);
	parse_diag(datagram, size, take, &sum);
	free(datagram);
	return 0;
}
