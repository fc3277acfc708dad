/* Whatever the tables under /proc hold. The first byte chooses which. */
#include "../src/kernel/counters.h"
#include "../src/kernel/namespace.h"
#include "../src/kernel/proc_tcp.h"
#include "../src/traffic/unix_sockets.h"
#include "text.h"

#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size);
	if (!text)
		return 0;
	uint64_t value;
	struct tcp_row row;
	struct unix_row unix_row;
	struct address gateway;
	switch (data[0] % 5) {
	case 0:
		parse_counter(text, "Tcp:", "PassiveOpens", &value);
		break;
	case 1:
		parse_proc_tcp_line(text, AF_INET, &row);
		break;
	case 2:
		parse_proc_tcp_line(text, AF_INET6, &row);
		break;
	case 3:
		if (parse_unix_line(text, &unix_row) && strlen(unix_row.path) > UNIX_PATH)
			abort();
		break;
	case 4:
		parse_default_gateway(text, &gateway);
		break;
	}
	free(text);
	return 0;
}
