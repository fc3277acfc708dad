/** How the library finds the coordinator's addresses, and what name servers that do not answer cost. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { lookupUntil } from "../src/coordinator/names.ts";
import { Child, cleanEnvironment, fixture } from "./child.ts";
import { ofPod } from "./coordination.ts";

const folder = await mkdtemp(join(tmpdir(), "lameduck-names-"));
after(() => rm(folder, { recursive: true }));
const host = "lameduck-coordinator.lameduck-system.svc";
const files = { hosts: join(folder, "hosts"), resolver: join(folder, "resolv.conf") };
await writeFile(files.hosts, "127.0.0.1 localhost\n10.0.0.7 Ours other # 10.0.0.8 ours\n::7 ours\n");
await writeFile(
  files.resolver,
  "# search wrong.example\nsearch shop.svc.cluster.local svc.cluster.local cluster.local\noptions timeout:1 ndots:5\n",
);

/** Knows names, each with its addresses of version 4, and keeps what it is asked. */
async function nameServer(known: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (question, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let size = question[at] ?? 0; size > 0; size = question[at] ?? 0) {
      labels.push(question.toString("latin1", at + 1, at + 1 + size));
      at += 1 + size;
    }
    const [name, type] = [labels.join("."), question.readUInt16BE(at + 1)];
    asked.push(`${type === 1 ? "A" : "AAAA"} ${name}`);
    const found = type === 1 ? (known[name] ?? []) : [];
    const answer = Buffer.concat([
      question.subarray(0, at + 5),
      ...found.map((each) =>
        Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, ...each.split(".").map(Number)]),
      ),
    ]);
    answer.writeUInt16BE(known[name] ? 0x8180 : 0x8183, 2);
    answer.writeUInt16BE(found.length, 6);
    answer.fill(0, 8, 12);
    socket.send(answer, port, address);
  });
  await once(socket.bind(0, "127.0.0.1"), "listening");
  return { asked, server: `127.0.0.1:${socket.address().port}`, [Symbol.dispose]: () => socket.close() };
}

function find(name: string, server: string, ended = new AbortController().signal): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookupUntil(ended, files, [server])(name, { all: true }, (error, found) => {
      if (error) reject(error);
      else resolve(found as LookupAddress[]);
    });
  });
}

test("a name of few dots is asked for with each suffix of resolv.conf, in order", async () => {
  using names = await nameServer({ [`${host}.cluster.local`]: ["10.96.0.9", "10.96.0.10"] });
  const found = await find(host, names.server);
  assert.deepEqual(
    found.map(({ address }) => address),
    ["10.96.0.9", "10.96.0.10"],
  );
  const suffixes = ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local"];
  assert.deepEqual(
    names.asked,
    suffixes.map((suffix) => `A ${host}.${suffix}`),
  );
});

test("a name without an address of version 4 is asked for one of version 6; an absolute name has no suffix", async () => {
  using names = await nameServer({ "six.example": [], "four.example": ["10.0.0.4"] });
  await assert.rejects(find("six.example.", names.server), { code: "ENODATA" });
  assert.deepEqual(names.asked, ["A six.example", "AAAA six.example"]);
  await assert.rejects(find("none.example.", names.server), { code: "ENOTFOUND" });
  assert.deepEqual(await find("four.example.", names.server), [{ address: "10.0.0.4", family: 4 }]);
});

test("names of the hosts file are asked of nobody", async () => {
  using names = await nameServer({});
  assert.deepEqual(await find("ours", names.server), [
    { address: "10.0.0.7", family: 4 },
    { address: "::7", family: 6 },
  ]);
  assert.deepEqual(names.asked, []);
});

test("a question that nobody answers is given up at the end of the termination", async () => {
  const silent = createSocket("udp4");
  await once(silent.bind(0, "127.0.0.1"), "listening");
  const ended = new AbortController();
  const found = find(host, `127.0.0.1:${silent.address().port}`, ended.signal);
  await once(silent, "message");
  ended.abort();
  await assert.rejects(found, { code: "ECANCELLED" });
  silent.close();
});

const isolated = ["--mount", "--net"];
const withoutNamespaces =
  spawnSync("unshare", [...isolated, "ip", "link"]).status === 0 ? false : "needs root, unshare and ip";

test("name servers that do not answer do not delay the exit", { skip: withoutNamespaces }, async () => {
  const resolver = join(folder, "hole");
  await writeFile(resolver, "nameserver 192.0.2.9\nsearch shop.svc.cluster.local\noptions ndots:5\n");
  // What is sent to a neighbour that is not there is lost without a word.
  const script =
    "ip link set lo up && ip link add hole type veth peer name end && ip address add 192.0.2.1/24 dev hole && " +
    "ip link set hole up && ip link set end up && ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:09 dev hole && " +
    'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  const inside = ["sh", "-c", script, resolver, process.execPath, fixture("server.ts")];
  const env = { ...ofPod, LAMEDUCK_COORDINATOR: `http://${host}:8070`, FIXTURE: "{}" };
  const child = new Child(
    spawn("unshare", [...isolated, ...inside], { env: cleanEnvironment(env), stdio: "pipe" }),
  );
  await child.until(() => child.port > 0);
  child.kill();
  await child.until("closed");
  const closedAt = performance.now();
  const { code, at } = await child.exited;
  assert.equal(code, 0);
  const { hold } = child.event("closing") ?? {};
  assert.ok(hold !== undefined && at - closedAt < hold, `${at - closedAt} ms after a hold of ${hold} ms`);
});
