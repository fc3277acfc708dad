import assert from "node:assert/strict";
import test from "node:test";
import type { KubernetesClient } from "@lameduck/kube";
import { coordinatorLines, readCoordinator } from "../src/install/status/coordinator.ts";

const status = {
  version: 1,
  epoch: "a",
  mode: "availability",
  head: 0,
  terminating: 2,
  released: 1,
  consumers: [],
  missing: ["node1"],
};

/** What is shown of one coordinator that answers so. */
async function shown(answer: object, ...others: readonly object[]): Promise<string> {
  const client = {
    list: () => Promise.resolve([{ metadata: { name: "coordinator-1" } }, ...others]),
    get: () => Promise.resolve(answer),
  } as unknown as KubernetesClient;
  const replicas = await readCoordinator(client, "lameduck-system", new AbortController().signal);
  return [...coordinatorLines(replicas)].join("\n");
}

test("a coordinator of an earlier release, which says less, is shown", async () => {
  assert.match(
    await shown(status),
    /0 consumers report, mode availability unless .*; 2 pods terminate, 1 of them/,
  );
});

test("a replica that terminates is left out: it may have lost its rights already", async () => {
  const old = { metadata: { name: "coordinator-0", deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const text = await shown(status, old);
  assert.match(text, /^acknowledgements: 1 coordinator\n/);
  assert.doesNotMatch(text, /coordinator-0/);
});

test("who speaks another version of the protocol to it is named", async () => {
  const otherVersions = [{ who: "kube-proxy/node1", version: "2" }];
  assert.match(
    await shown({ ...status, otherVersions }),
    /kube-proxy\/node1 speaks version 2 of the protocol/,
  );
});

test("who is behind and says why is shown with it, and so is who cannot be read", async () => {
  const common = { node: undefined, basis: "state", isSilent: false };
  const consumers = [
    { ...common, name: "nginx/edge-1", behind: 1, reason: "not reloaded since" },
    { ...common, name: "nginx/edge-2", behind: 0, reason: "not reloaded before" },
    { ...common, name: "nginx/edge-3", behind: 0, problem: "no\nprocess" },
  ];
  const text = await shown({ ...status, consumers });
  assert.match(text, /nginx\/edge-1: not reloaded since\n/);
  assert.doesNotMatch(text, /edge-2/);
  assert.match(text, /nginx\/edge-3: no\\u000aprocess$/);
});

test("an answer of another version is unknown, and says which command to use", async () => {
  const text = await shown({ version: 2, reporters: [] });
  assert.match(text, /coordinator-1: unknown.*another version; use the command of its release/);
});
