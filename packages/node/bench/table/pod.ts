/** What runs in a pod of the table: `pod.ts <protocol> <file with what is attached>`, the file written by turns.ts. */
import { readFileSync } from "node:fs";
import { libraries } from "../libraries.mjs";
import type { Attached } from "./turns.ts";
import { servers, type Protocol } from "./servers.ts";

/** Less than what is left of the grace period after the delay, so that a library ends by itself. */
const plenty = 10_000;

const [protocol = "http", file = ""] = process.argv.slice(2);
const { library, delay } = JSON.parse(readFileSync(file, "utf8")) as Attached;
const target = await servers[protocol as Protocol]();
await libraries[library]?.(target.server, delay, { close: target.close, plenty, inKubernetes: true });
target.listen(Number(process.env["PORT"] ?? 8080), process.env["HOST"]);
