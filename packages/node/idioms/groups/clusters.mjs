/** Several processes that accept from one listener. */
const cluster = (how, more = {}) => ({
  command: ["node", "fixtures/cluster.mjs"],
  env: { IDIOM_HOW: how, ...more },
});

/** Workers without a handler of SIGTERM. */
const told = (how) => ({ command: ["node", "fixtures/told.mjs"], env: { IDIOM_HOW: how } });

export default {
  "cluster, round robin": { what: "the primary passes the signal on; workers close", ...cluster("forward") },
  "cluster, SCHED_NONE": {
    what: "the same, where workers accept themselves",
    ...cluster("forward", { NODE_CLUSTER_SCHED_POLICY: "none" }),
  },
  "cluster, disconnect": { what: "`cluster.disconnect()` in the primary", ...cluster("disconnect") },
  "cluster, disconnect, SCHED_NONE": {
    what: "the same, where workers accept themselves",
    ...cluster("disconnect", { NODE_CLUSTER_SCHED_POLICY: "none" }),
  },
  "cluster, kill": { what: "`worker.kill()` for each worker", ...cluster("kill") },
  "cluster, messages": {
    what: "a message tells each worker to close and exit",
    ...cluster("message"),
  },
  "cluster, message, disconnect": {
    what: "a message, `worker.disconnect()`, and `worker.kill()` for a worker that stays too long",
    ...told("disconnect"),
  },
  "cluster, SIGQUIT": { what: "SIGQUIT tells each worker to close and exit", ...told("SIGQUIT") },
  "cluster, the primary exits": { what: "`process.exit(3)` in the primary at once", ...told("exit") },
  "fork, ready, shutdown": {
    what: "a parent that has waited for a message, ready, sends its child another, shutdown",
    onlyImport: true,
    holds: false,
    ...told("forked"),
  },
  "cluster, the group": {
    what: "the signal reaches primary and workers",
    ...cluster("group"),
    toGroup: true,
  },
  "cluster, no handlers": { what: "neither primary nor workers have a handler", ...cluster("none") },
  "cluster, forks anew": {
    what: "the primary forks a new worker for each that has ended, until it stops itself",
    ...cluster("respawn"),
  },
  throng: {
    what: "`throng()` with a grace time",
    needs: ["throng"],
    command: ["node", "fixtures/throng.mjs"],
  },
  "workers replaced, SCHED_NONE": {
    what: "one worker is replaced; the others serve on",
    client: "survivors",
    holds: false,
    exitsAsIs: true,
    ...cluster("replace", { NODE_CLUSTER_SCHED_POLICY: "none" }),
  },
  "workers replaced, round robin": {
    what: "one worker is replaced; the others serve on",
    client: "survivors",
    holds: false,
    exitsAsIs: true,
    ...cluster("replace"),
  },
  "handle passed to children": {
    what: "children listen on their parent's handle",
    command: ["node", "fixtures/passed.mjs"],
  },
  "handle passed to children, one ended": {
    what: "one of them is ended; the other serves on",
    client: "survivors",
    holds: false,
    exitsAsIs: true,
    command: ["node", "fixtures/passed.mjs"],
  },
  "sockets passed to children": {
    what: 'the parent accepts, children get sockets by `send("socket", socket)`',
    onlyImport: true,
    command: ["node", "fixtures/sockets.mjs"],
    holds: false,
  },
};
