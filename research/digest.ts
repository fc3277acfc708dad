import { readFileSync, writeFileSync } from "node:fs";
import { account, type RunRecording } from "@lameduck/accounting";
import { digestOf, writeDigest } from "./compare/digest.ts";
import { commandLine } from "../scripts/command-line.ts";

/**
 * Of a whole recording of the matrix (e2e/README.md), tens of megabytes, keeps what a comparison needs.
 * Usage: digest.ts RECORDING --route cluster-ip --surge 25% --unavailable 25% --replicas 20 --output FILE
 */
const { values, positionals } = commandLine(import.meta.url, {
  allowPositionals: true,
  options: {
    route: { type: "string", default: "cluster-ip" },
    surge: { type: "string", default: "25%" },
    unavailable: { type: "string", default: "25%" },
    replicas: { type: "string", default: "20" },
    output: { type: "string" },
  },
});
const recording = JSON.parse(readFileSync(positionals[0] ?? "", "utf8")) as RunRecording;
const { route, surge, unavailable, replicas, output } = values;
const digest = digestOf(recording, account(recording, { description: "", seed: 1, timeline: false }), {
  route,
  maxSurge: surge,
  maxUnavailable: unavailable,
  replicas: Number(replicas),
});
const text = writeDigest(digest);
if (output === undefined) process.stdout.write(text);
else writeFileSync(output, text);
