/* Requests on open connections: which senders continue, and whether a longer hold would end them. */
#ifndef LAMEDUCK_POOLED_H
#define LAMEDUCK_POOLED_H

#include "traffic.h"

/* Counts the requests on `connection` since the last dump. */
void note_pooled_requests(struct traffic *traffic, const struct tcp_row *row, struct connection *connection);

void note_opening(struct traffic *traffic, const struct address *peer, double at);
void forget_openings(struct traffic *traffic, const struct address *peer);

/* A request that nobody has read, or that was read and not answered, or an answer that has not left. */
bool has_work(struct traffic *traffic, const struct tcp_row *row, const struct connection *connection, double now);

/* Whether its sender's requests are known not to end during a hold. */
bool of_lasting_pool(struct traffic *traffic, const struct tcp_row *row);

/* After a dump: reports the senders of requests to the decision. */
void weigh_pooled_peers(struct traffic *traffic, double now);

#endif
