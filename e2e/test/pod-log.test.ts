import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Cluster } from "../cluster/index.ts";
import { followLog } from "../ingress/pod-log.ts";

test("a container's log is told line by line, with long lines joined, and a pod without one is an error", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "lameduck-pod-log-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const cluster = { directory } as Cluster;
  const folder = join(directory, "node-1/var/log/pods/default_web_uid/c");
  mkdirSync(folder, { recursive: true });
  const at = (second: number, rest: string): string => `2026-11-21T20:01:0${second}Z ${rest}\n`;
  const written = [
    at(1, "stdout P one "),
    at(2, "stderr F two"),
    at(3, "stdout P two "),
    at(4, "stdout F three"),
  ];
  writeFileSync(join(folder, "0.log"), written.join(""));
  const lines: [string, number][] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const pod = { node: "node-1", name: "web" };
  using _ = await followLog(cluster, pod, "c", "first", (text, epoch) => {
    if (lines.push([text, new Date(epoch).getUTCSeconds()]) === 2) resolve();
  });
  await promise;
  assert.deepEqual(lines, [
    ["two", 2],
    ["one two three", 4],
  ]);
  const other = { ...pod, name: "none" };
  await assert.rejects(
    followLog(cluster, other, "c", "first", () => undefined),
    /no log of pod default\/none/,
  );
});
