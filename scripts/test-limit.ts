/**
 * Loaded into every process that `npm test` starts for a test file. The runner's own time-out is for single tests: a process that does
 * not exit after its last one, or that waits for a child before its first, would keep everybody waiting without a limit.
 */
import { isMainThread } from "node:worker_threads";

/** The slowest file needs two minutes on a busy machine. The files that share a process need eight. */
const limit = 15 * 60_000;

// A test file's import of node:http reads all that it exports, and the last of these load `fetch`: as long as starting Node.
const http = process.getBuiltinModule("node:http");
for (const name of ["WebSocket", "CloseEvent", "MessageEvent"]) Reflect.deleteProperty(http, name);

// The runner itself is told the same option.
const runsTests = process.env["NODE_TEST_CONTEXT"] || process.execArgv.includes("--test-isolation=none");
if (runsTests && isMainThread)
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(", ");
    console.error(`${process.argv[1]} has not ended after ${limit / 60_000} minutes. Still open: ${open}`);
    process.exit(1);
  }, limit).unref();
