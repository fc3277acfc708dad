/* Cumulative counters of the network namespace: they miss no connection, however short, and cost about 20 us to read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finds `name` in the header line beginning with `group` ("Tcp:") and its value in the line after. */
bool parse_counter(const char *text, const char *group, const char *name, uint64_t *value);

/* Inbound TCP handshakes completed, both families, before accept(). */
bool read_passive_opens(uint64_t *value);

/* Handshakes turned away for a full accept queue. Their clients are not told. They try again after a second at first. */
bool read_listen_overflows(uint64_t *value);

/* Segments with payload sent for the first time. A namespace that sends none answers no requests. */
bool read_data_sent(uint64_t *value);
