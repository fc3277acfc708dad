/** What runs in a pod of the table: `pod.ts <protocol> <library> [delay]`. */
import { libraries } from "../libraries.mjs";
import { servers, type Protocol } from "./servers.ts";

/** Less than what is left of the grace period after the delay, so that a library ends by itself. */
const plenty = 10_000;

const [protocol = "http", name = "bare", delay] = process.argv.slice(2);
const target = servers[protocol as Protocol]();
await libraries[name]?.(target.server, delay === undefined ? undefined : Number(delay), {
  close: target.close,
  plenty,
  inKubernetes: true,
});
target.listen(Number(process.env["PORT"] ?? 8080), process.env["HOST"]);
