/** What makes a report believable: the rules themselves, the proxy's own API, counted syncs, or time that passed. */
export const bases = ["rules", "state", "syncs", "time"] as const;
export type Basis = (typeof bases)[number];
