import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { endpointsIn, ingressNginx, workersStartedBy } from "../src/consumers/ingress-nginx.ts";
import type { Worker, Workers } from "../src/consumers/nginx-processes.ts";
import { random as randomFrom } from "../../drain/test/random.ts";
import { eventually, freePort, programOf } from "./live.ts";

const { signal } = new AbortController();
const [a, b, c] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
const backend = (name: string, ...addresses: string[]): object => ({
  name,
  port: 80,
  endpoints: addresses.map((address) => ({ address, port: "8080" })),
});
const listOf = (...addresses: string[]): string =>
  JSON.stringify([
    { name: "upstream-default-backend", noServer: false },
    backend("shop-web-80", ...addresses),
  ]);

describe("the list of ingress-nginx", () => {
  it("all endpoints of all backends count, also those of a canary, and of both address families", () => {
    const external = { name: "a-b-80", service: { spec: { type: "ExternalName" } } };
    const list = [
      { ...external, endpoints: [{ address: "shop.example", port: "80" }] },
      { ...backend("shop-canary-80", b, "fd00:0::7"), noServer: true },
      { ...backend("shop-web-80", a, b), alternativeBackends: ["shop-canary-80"] },
    ];
    assert.deepEqual([...endpointsIn(JSON.stringify(list), "x")], [b, "fd00::7", a]);
  });

  for (const [what, text, problem] of [
    ["before the first one is written", "nil", /has not written its list yet/],
    ["of no backend", "[]", /no backend/],
    ["of something else", '{"code":404}', /no backend/],
    ["with an endpoint that has no address", '[{"name":"a","endpoints":[{"port":"1"}]}]', /no address/],
    ["with a name where an address belongs", JSON.stringify([backend("a", "shop.example")]), /no address/],
    ["with endpoints that are no list", '[{"name":"a","endpoints":{}}]', /no list/],
    ["whose backend has no name", '[{"endpoints":[]}]', /no name/],
  ] as const)
    it(`a list ${what} is not understood`, () => assert.throws(() => endpointsIn(text, "x"), problem));
});

/** One look of the watcher at both pods a and b. */
interface Look {
  readonly at: number;
  /** What the status server answers, or the status of an error. */
  readonly list: readonly string[] | number;
  readonly answersAfter?: number;
  /** Workers that are shutting down. */
  readonly leaving?: readonly string[];
  readonly used: string | RegExp;
  readonly reason?: RegExp;
}

const worker = (pid: string, startedAt: number): Worker => ({ pid, key: pid, startedAt });
/** The beginning of a second. */
const began = 1_900_000_000_000;

const situations: Readonly<Record<string, readonly Look[]>> = {
  "a second and a half after the list has lost it": [
    { at: 0, list: [a, b], used: `${a} ${b}` },
    { at: 1_100, list: [b], used: `${a} ${b}` },
    { at: 2_599, list: [b], used: `${a} ${b}` },
    { at: 2_600, list: [b], used: b },
  ],
  "a second and a half after the first look, where the list never held it": [
    { at: 0, list: [b], used: `${a} ${b}` },
    { at: 1_499, list: [b], used: `${a} ${b}` },
    { at: 1_500, list: [b], used: b },
  ],
  "from the beginning, when it has come back meanwhile": [
    { at: 0, list: [b], used: `${a} ${b}` },
    { at: 1_000, list: [a, b], used: `${a} ${b}` },
    { at: 4_900, list: [a, b], used: `${a} ${b}` },
    { at: 5_000, list: [b], used: `${a} ${b}` },
    { at: 6_499, list: [b], used: `${a} ${b}` },
    { at: 6_500, list: [b], used: b },
  ],
  "later by as much as its workers answer late": [
    { at: 0, list: [b], answersAfter: 900, used: `${a} ${b}` },
    { at: 2_700, list: [b], used: `${a} ${b}` },
    { at: 2_800, list: [b], used: b },
  ],
  "from the beginning, when it could not be asked meanwhile": [
    { at: 0, list: [b], used: `${a} ${b}` },
    { at: 1_000, list: 502, used: /status 502/ },
    { at: 1_600, list: [b], used: `${a} ${b}` },
    { at: 3_099, list: [b], used: `${a} ${b}` },
    { at: 3_100, list: [b], used: b },
  ],
  "when the workers that were leaving have ended": [
    { at: 0, list: [b], leaving: ["1"], used: `${a} ${b}` },
    { at: 3_000, list: [b], leaving: ["1"], used: `${a} ${b}` },
    { at: 3_100, list: [b], leaving: [], used: b },
  ],
  "five seconds after the reload, when workers that were leaving go on": [
    { at: 0, list: [b], leaving: ["1"], used: `${a} ${b}` },
    { at: 4_999, list: [b], leaving: ["1"], used: `${a} ${b}` },
    { at: 5_000, list: [b], leaving: ["1"], used: b },
  ],
  "although workers leave that have copied the list before": [
    { at: 0, list: [b], used: `${a} ${b}` },
    { at: 1_500, list: [b], leaving: ["1"], used: b },
  ],
  "only after the next list, when two lists came within a second": [
    { at: 0, list: [a, b, c], used: `${a} ${b}` },
    { at: 3_100, list: [a, b], used: `${a} ${b}` },
    { at: 3_400, list: [b], used: `${a} ${b}`, reason: /^its list has changed twice within a second/ },
    { at: 60_000, list: [b], used: `${a} ${b}`, reason: /^its list has changed twice within a second/ },
    { at: 60_300, list: [b, c], used: `${a} ${b}` },
    { at: 61_800, list: [b, c], used: b },
  ],
};

interface ModelWorker {
  readonly key: string;
  readonly startedAt: number;
  list: readonly string[];
  /** The second of that list. */
  second: number;
  nextCopy: number;
  leavesAt: number;
  endsAt: number;
}

/** Controller and workers as balancer.lua has them, in virtual milliseconds from `began` on. */
class ModelNginx {
  list: readonly string[] = [a, b, c];
  readonly #random: () => number;
  #second = -10;
  #number = 0;
  #all: ModelWorker[] = [];
  #nextList: number;
  #nextReload: number;

  constructor(random: () => number) {
    this.#random = random;
    this.#nextList = random() * 5_000;
    this.#nextReload = random() * 15_000;
    this.#start(-20_000);
  }

  /** At the time of the last `runUntil`. */
  get workers(): Workers {
    const read = (own: readonly ModelWorker[]): Worker[] =>
      own.map(({ key, startedAt }) => ({ pid: key, key, startedAt: began + startedAt }));
    const isLeaving = ({ leavesAt }: ModelWorker): boolean => leavesAt < Infinity;
    return {
      master: "1",
      accepting: read(this.#all.filter((one) => !isLeaving(one))),
      leaving: read(this.#all.filter(isLeaving)),
    };
  }

  senders(address: string): readonly ModelWorker[] {
    return this.#all.filter(({ list }) => list.includes(address));
  }

  runUntil(end: number): void {
    for (;;) {
      const copies = this.#all.map(({ nextCopy, endsAt }) => Math.min(nextCopy, endsAt));
      const at = Math.min(this.#nextList, this.#nextReload, ...copies);
      if (at > end) return;
      if (at === this.#nextList) this.#write(at);
      else if (at === this.#nextReload) this.#reload(at);
      else this.#copyOrEnd(at);
    }
  }

  #write(at: number): void {
    const before = this.list.join(" ");
    do this.list = [a, b, c].filter(() => this.#random() < 0.6);
    while (this.list.join(" ") === before);
    this.#second = Math.floor(at / 1_000);
    // Mostly as seldom as the controller may, at times one soon after the other; but not between two looks.
    const isSoon = this.#random() < 0.3;
    this.#nextList = at + (isSoon ? 251 + this.#random() * 700 : 3_333 + this.#random() * 2_000);
  }

  #reload(at: number): void {
    for (const one of this.#all) {
      if (one.leavesAt < Infinity) continue;
      this.#copy(one);
      one.leavesAt = at;
      one.endsAt = at + this.#random() ** 3 * 4_900;
      one.nextCopy = Infinity;
    }
    this.#start(at);
    this.#nextReload = at + 5_000 + this.#random() * 9_000;
  }

  #start(at: number): void {
    for (let count = 0; count < 3; count++)
      this.#all.push({
        key: String(++this.#number),
        startedAt: at,
        list: this.list,
        second: this.#second,
        nextCopy: Math.max(at, 0) + this.#random() * 1_000,
        leavesAt: Infinity,
        endsAt: Infinity,
      });
  }

  #copyOrEnd(at: number): void {
    this.#all = this.#all.filter(({ endsAt }) => endsAt !== at);
    for (const one of this.#all)
      if (one.nextCopy === at) {
        this.#copy(one);
        one.nextCopy = at + 1_000 + this.#random() * 450;
      }
  }

  #copy(worker: ModelWorker): void {
    if (this.#second <= worker.second) return;
    worker.list = this.list;
    worker.second = this.#second;
  }
}

describe("ingress-nginx", () => {
  let server: Server;
  let now = 0;
  let answer: Look = { at: 0, list: 500, used: "" };
  let asked: string[] = [];
  before(async () => {
    server = createServer(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      const { list, answersAfter = 0 } = answer;
      now += answersAfter;
      if (typeof list === "number") response.writeHead(list).end();
      else response.end(listOf(...list));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => server.close());

  it("ingress-nginx has let go of no pod that a worker may choose, in any order of lists, copies and reloads", async (t) => {
    t.mock.method(performance, "now", () => now);
    t.mock.method(Date, "now", () => began + now);
    const { port } = server.address() as AddressInfo;
    let [released, held] = [0, 0];
    for (let seed = 1; seed <= 60; seed++) {
      const nginx = new ModelNginx(randomFrom(seed));
      const seen = ingressNginx(new URL(`http://127.0.0.1:${port}`), () => nginx.workers);
      for (let at = 0; at < 15_000; at += 250) {
        nginx.runUntil(at);
        now = at;
        answer = { at, list: nginx.list, used: "" };
        const used = await seen.stillUsed([a, b, c], signal);
        for (const address of [a, b, c])
          if (used.has(address)) held++;
          else {
            released++;
            const who = nginx.senders(address);
            assert.deepEqual(who, [], `seed ${seed} at ${at} ms: ${address} is let go of`);
          }
      }
    }
    assert.ok(released > 500 && held > 500, `${released} let go of, ${held} held`);
  });

  for (const [when, looks] of Object.entries(situations))
    it(`ingress-nginx has let go of a pod ${when}`, async (t) => {
      t.mock.method(performance, "now", () => now);
      t.mock.method(Date, "now", () => began + now);
      const { port } = server.address() as AddressInfo;
      const workers = (): Workers => ({
        master: "1",
        accepting: [worker("7", began), worker("8", began)],
        leaving: (answer.leaving ?? []).map((pid) => worker(pid, began - 1_000)),
      });
      const seen = ingressNginx(new URL(`http://127.0.0.1:${port}`), workers);
      asked = [];
      for (const look of looks) {
        now = look.at;
        answer = look;
        const used = seen.stillUsed([a, b], signal).then((one) => [...one].join(" "));
        if (typeof look.used === "string") assert.equal(await used, look.used, `at ${look.at} ms`);
        else await assert.rejects(used, look.used);
        assert.match(seen.reason?.() ?? "", look.reason ?? /^$/, `at ${look.at} ms`);
      }
      assert.deepEqual(new Set(asked), new Set(["GET /configuration/backends"]), "it changes nothing");
    });
});

const hasNginx = programOf("nginx") === undefined ? { skip: "no nginx here" } : {};

/** Whatever else runs on this machine. */
const controllerName = `controller-${process.pid}`;
const workers = (): readonly Workers[] => workersStartedBy(controllerName);

describe("the workers of ingress-nginx", hasNginx, () => {
  it("they are those of the nginx that its controller has started, and one that leaves is waited for", async () => {
    const folder = mkdtempSync(join(tmpdir(), "lameduck-ingress-nginx-"));
    const [port, web] = [await freePort(), await freePort()];
    const file = join(folder, "nginx.conf");
    const list = join(folder, "list.json");
    writeFileSync(list, listOf(a, b));
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (one) => `${one}_temp_path ${folder};`,
    );
    writeFileSync(
      file,
      `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; user root; events {}
http { access_log off; ${paths.join(" ")}
  server { listen 127.0.0.1:${port}; keepalive_timeout 0; location = /configuration/backends { alias ${list}; } }
  server { listen 127.0.0.1:${web}; location / { proxy_pass http://127.0.0.1:${port}; } }
}
`,
    );
    const seen = ingressNginx(new URL(`http://127.0.0.1:${port}`), workers);
    const nginx = `${programOf("nginx")} -c ${file} -e ${folder}/error.log`;
    // As in the controller's chroot image there is a script between them.
    const script = `sh -c '${nginx}; true' & wait`;
    const controller = spawn("sh", ["-c", script], { argv0: `/${controllerName}` });
    const ended = once(controller, "exit");
    const uses = async (): Promise<string> => [...(await seen.stillUsed([a, b], signal))].join(" ");
    try {
      await eventually(uses, (used) => used === `${a} ${b}`);
      const client = connect(web, "127.0.0.1");
      client.on("error", () => undefined);
      await once(client, "connect");
      client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\nab");
      assert.match(String(await once(client, "data")), /^HTTP\/1\.1 100 /);
      const master = Number(readFileSync(join(folder, "nginx.pid"), "utf8"));
      const reloadedAt = performance.now();
      process.kill(master, "SIGHUP");
      await eventually(
        () => Promise.resolve(childrenOf(master)),
        (titles) => titles.some((title) => title.includes("shutting down")) && titles.length === 2,
      );
      writeFileSync(list, listOf(b));
      await eventually(uses, (used) => used === b);
      const waited = performance.now() - reloadedAt;
      assert.ok(waited > 4_500, `it still had the list before, and was waited for ${waited} ms only`);
      client.destroy();
      process.kill(master, "SIGQUIT");
      await ended;
      await assert.rejects(uses(), /ECONNREFUSED/);
    } finally {
      controller.kill("SIGKILL");
      rmSync(folder, { recursive: true });
    }
  });

  it("a watcher that does not see them counts nothing", async (t) => {
    const server = createServer((_, response) => response.end(listOf(b))).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const seen = ingressNginx(new URL(`http://127.0.0.1:${port}`), workers);
    await assert.rejects(seen.stillUsed([a], signal), /no nginx of it is seen here/);
  });
});

function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1")
    .split(" ")
    .filter(Boolean)
    .map((child) => readFileSync(`/proc/${child}/cmdline`, "latin1"));
}
