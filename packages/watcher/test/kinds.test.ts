import assert from "node:assert/strict";
import test from "node:test";
import { kinds } from "@lameduck/senders";
import { parseWatcherFlags, watcherHelp } from "../src/flags.ts";

/** Where a proxy of the kind might be. */
const places: Readonly<Record<string, string>> = {
  haproxy: "=/run/haproxy.sock",
  nginx: "=/etc/nginx/nginx.conf",
  envoy: "=http://127.0.0.1:9901",
  traefik: "=http://127.0.0.1:8080",
  ztunnel: "=http://127.0.0.1:15000",
  aws: "=arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/web/1",
  gcp: "=project/zone/group",
  http: "=http://127.0.0.1:1",
};

const read = kinds.filter(({ consumer }) => consumer !== undefined);

for (const { name, consumer } of read)
  test(`a watcher reads every kind of sender that can be read, under its own name: ${name}`, () => {
    const consumers = `--consumer ${name}${places[name] ?? ""}`.split(" ");
    const args = ["--coordinator", "http://lameduck:8070", "--token-file", "/token", ...consumers];
    const flags = parseWatcherFlags(args, { NODE_NAME: "node1" });
    assert.deepEqual(
      flags?.consumers.map(({ kind }) => kind),
      [name],
    );
    assert.ok(consumer && watcherHelp.includes(`${consumer.usage.padEnd(42)} ${consumer.help}`));
  });
