import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { Consumer } from "../src/consumer.ts";
import { nginx } from "../src/consumers/nginx.ts";
import { hostAmongServers, readConfiguration } from "../src/consumers/nginx-files.ts";
import { eventually, programOf, running } from "./live.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-nginx-"));
after(() => rmSync(directory, { recursive: true }));
const { signal } = new AbortController();
const pods = ["127.0.0.5", "127.0.0.6", "127.0.0.7", "::1"];

const uses = (consumer: Consumer) => async () => [...(await consumer.stillUsed(pods, signal))].join(" ");
const are =
  (...addresses: string[]) =>
  (used: string): boolean =>
    used === addresses.join(" ");

/** It is so at every look for so many milliseconds. */
async function stays(consumer: Consumer, milliseconds: number, ...addresses: string[]): Promise<void> {
  for (const end = performance.now() + milliseconds; performance.now() < end; await delay(25))
    assert.equal(await uses(consumer)(), addresses.join(" "));
}

describe("a configuration of NGINX Plus", () => {
  const stateOf = async (line: string): Promise<unknown> => {
    const file = join(directory, "plus.conf");
    writeFileSync(file, `http {\n  upstream shop {\n    zone shop 1m;\n${line}\n  }\n}\n`);
    return readConfiguration(file).then(
      () => "read",
      (error: unknown) => (error as Error).message,
    );
  };

  it("servers in a state file are changed without a reload, so that nothing can be read", async () => {
    for (const line of ["state /var/lib/nginx/state/shop.conf;", "    zone a 1m; state s.conf ;"])
      assert.match(String(await stateOf(line)), /NGINX Plus has a state file/);
    for (const line of [
      "# state /var/lib/nginx/state/shop.conf;",
      "server 10.0.0.1; # state x;",
      "server state:80;",
    ])
      assert.equal(await stateOf(line), "read");
  });
});

describe("an upstream's servers", () => {
  it("files that are included on one line are read all", async () => {
    for (const name of ["one", "two"]) writeFileSync(join(directory, `${name}.inc`), `# ${name}`);
    const file = join(directory, "line.conf");
    writeFileSync(file, 'http { include one.inc; include "two.inc"; }\n');
    assert.match((await readConfiguration(file)).text, /# one\n# two$/);
  });

  it("a host, whose addresses nginx looks up by itself, makes the configuration unreadable", async () => {
    for (const [line, host] of [
      ["server web.shop.svc.cluster.local:80;", "web.shop.svc.cluster.local"],
      ["server web resolve;", "web"],
      [" zone z 64k; server 'web' down;", "web"],
      ["server\n  web:http weight=2;", "web"],
    ] as const) {
      const list = `upstream pods { server 10.0.0.1; ${line} }`;
      assert.equal(hostAmongServers(list), host);
      // A list of servers that is a file of its own.
      assert.equal(hostAmongServers(line), host);
      const file = join(directory, "hosts.conf");
      writeFileSync(file, `http { ${list} }\n`);
      await assert.rejects(nginx(file, "/none.pid").stillUsed(pods, signal), /names the host web/);
    }
  });

  it("addresses, sockets, upstreams of the files and names elsewhere do not", () => {
    for (const text of [
      "upstream pods { server 10.0.0.1:80 max_fails=0; server [::1]:80; server 10.0.0.2; }",
      "upstream pods { server unix:/run/a.sock; server localhost:8080; }",
      "upstream pods { server inner:80; } upstream inner { server 10.0.0.1; }",
      "upstream pods { server 10.0.0.1; # server web;\n}\n# server web;",
      "server { server_name web; location / { proxy_pass http://$x; } }",
      "server { resolver web; location / { proxy_pass http://web.shop; } }",
    ])
      assert.equal(hostAmongServers(text), undefined, text);
  });
});

/** An nginx with an upstream in a file of its own, and what a watcher beside it sees. */
class Nginx implements AsyncDisposable {
  readonly folder: string;
  readonly file: string;
  readonly pidFile: string;
  readonly seen: Consumer;
  readonly #running: ReturnType<typeof running>;

  constructor(name: string, servers: readonly string[], log = "off") {
    this.folder = join(directory, name);
    this.file = join(this.folder, "nginx.conf");
    this.pidFile = join(this.folder, "nginx.pid");
    mkdirSync(join(this.folder, "upstreams"), { recursive: true });
    this.configure(log);
    this.replace(servers);
    const errors = join(this.folder, "error.log");
    this.#running = running(programOf("nginx") ?? "", ["-c", this.file, "-e", errors]);
    this.seen = nginx(this.file, this.pidFile);
  }

  configure(log: string): void {
    const { folder } = this;
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (one) => `${one}_temp_path ${folder};`,
    );
    writeFileSync(
      this.file,
      `daemon off;
pid ${this.pidFile};
error_log ${folder}/error.log;
worker_processes 2;
events {} # include nothing.conf;
http { access_log ${log}; ${paths.join(" ")} include upstreams/*.conf;
  server { listen unix:${folder}/nginx.sock; location / { proxy_pass http://pods; } }
}
`,
    );
  }

  replace(servers: readonly string[]): void {
    const list = servers.map((server) => `server ${server};`).join(" ");
    writeFileSync(join(this.folder, "new"), `upstream pods { ${list} }\n`);
    renameSync(join(this.folder, "new"), join(this.folder, "upstreams", "pods.conf"));
  }

  reload(): void {
    this.#running.process.kill("SIGHUP");
  }

  /** A pipe as log that nobody reads cannot be opened: the reload waits between the files and its workers. */
  async beginReload(): Promise<void> {
    this.reload();
    await eventually(
      () => Promise.resolve(this.state),
      ({ isResting, isWaiting }) => isWaiting && !isResting,
    );
  }

  /** Whether the master reads nothing, and whether it waits. */
  get state(): { readonly isResting: boolean; readonly isWaiting: boolean } {
    const status = readFileSync(`/proc/${this.#running.process.pid}/status`, "latin1");
    return { isResting: /^SigBlk:\s+0+$/m.test(status), isWaiting: /^State:\s+S/m.test(status) };
  }

  get children(): readonly string[] {
    const { pid } = this.#running.process;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
  }
}

const isHere = programOf("nginx") !== undefined;

describe("nginx, the real one", isHere ? { concurrency: true } : { skip: "no nginx here" }, () => {
  it("nginx lets go of an address when workers run that have never read it, not when the file changes", async () => {
    await using proxy = new Nginx("plain", ["127.0.0.5:80", "127.0.0.6:80", "[::1]:80"]);
    const { seen } = proxy;
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.6", "::1"));
    proxy.replace(["127.0.0.6:80"]);
    // No file names two of them any more, and the workers still have them.
    await stays(seen, 6_000, "127.0.0.5", "127.0.0.6", "::1");
    proxy.reload();
    await eventually(uses(seen), are("127.0.0.6"));
    // A change that does not concern an address does not bring it back.
    proxy.replace(["127.0.0.6:80", "127.0.0.7:80"]);
    assert.equal(await uses(seen)(), "127.0.0.6 127.0.0.7");
    const other = nginx(proxy.file, join(proxy.folder, "other.pid"));
    await assert.rejects(other.stillUsed(pods, signal), /no process id/);
  });

  it("nginx is not believed to have let go by workers whose reload has read the files before they changed", async () => {
    const log = join(directory, "log");
    execFileSync("mkfifo", [log]);
    let reader = openSync(log, "r+");
    await using proxy = new Nginx("slow", ["127.0.0.5:80", "127.0.0.6:80"], log);
    const { seen } = proxy;
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.6"));
    await eventually(
      () => Promise.resolve(proxy.state),
      ({ isResting }) => isResting,
    );
    closeSync(reader);
    await proxy.beginReload();
    proxy.replace(["127.0.0.6:80"]);
    const began = performance.now();
    assert.equal(await uses(seen)(), "127.0.0.5 127.0.0.6");
    reader = openSync(log, "r+");
    // Its new workers have the old files. The watcher believes them 5 s after the change.
    for (let used = ""; performance.now() - began < 2_500; await delay(25)) {
      used = await uses(seen)();
      if (performance.now() - began < 4_500) assert.equal(used, "127.0.0.5 127.0.0.6");
    }
    proxy.reload();
    await eventually(uses(seen), are("127.0.0.6"));
    closeSync(reader);
  });

  it("nginx has let go as soon as a reload is over, although nobody looked between the change and the reload", async () => {
    await using proxy = new Nginx("prompt", ["127.0.0.5:80", "127.0.0.6:80"]);
    const { seen } = proxy;
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.6"));
    await eventually(
      () => Promise.resolve(proxy.state),
      ({ isResting }) => isResting,
    );
    proxy.replace(["127.0.0.6:80"]);
    const began = performance.now();
    // nginx -s reload reads the files, too, before it sends the signal.
    await promisify(execFile)(programOf("nginx") ?? "", ["-t", "-q", "-c", proxy.file]);
    const before = proxy.children;
    proxy.reload();
    await eventually(
      () => Promise.resolve(proxy.children),
      (children) => children.every((child) => !before.includes(child)),
    );
    const reloaded = performance.now() - began;
    await eventually(uses(seen), are("127.0.0.6"));
    // By patience alone it would have let go after 5 s. A machine on which the reload took so long shows nothing.
    if (reloaded < 2_500) assert.ok(performance.now() - began < 4_500, "it has waited for nothing");
  });

  it("nginx waits for workers that are shutting down, but not for ever", async () => {
    await using proxy = new Nginx("leaving", ["127.0.0.5:80"]);
    const { seen } = proxy;
    await eventually(uses(seen), are("127.0.0.5"));
    // Its worker opens the connection to the pod when the request has come as a whole.
    const client = connect(join(proxy.folder, "nginx.sock"));
    await once(client, "connect");
    client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\nab");
    // One that no worker has read yet would go to the next one.
    assert.match(String(await once(client, "data")), /^HTTP\/1\.1 100 /);
    proxy.replace(["127.0.0.6:80"]);
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.6"));
    const began = performance.now();
    proxy.reload();
    let used = "";
    await eventually(
      async () => (used = await uses(seen)()),
      (now) => now !== "127.0.0.5 127.0.0.6",
    );
    assert.equal(used, "127.0.0.6");
    // The watcher waits for 5 s from the start of the new workers.
    const waited = performance.now() - began;
    assert.ok(waited > 4_500, `${waited} ms`);
    proxy.replace(["127.0.0.7:80"]);
    await eventually(uses(seen), are("127.0.0.6", "127.0.0.7"));
    proxy.reload();
    client.destroy();
    await eventually(uses(seen), are("127.0.0.7"));
  });

  it("nginx lets go of an address that its workers have never read, although its files were touched after the reload", async () => {
    await using proxy = new Nginx("touched", ["127.0.0.5:80", "127.0.0.6:80"]);
    const { seen } = proxy;
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.6"));
    proxy.replace(["127.0.0.6:80"]);
    proxy.reload();
    await eventually(uses(seen), are("127.0.0.6"));
    proxy.configure("off");
    appendFileSync(proxy.file, "# The same in other words.");
    const used = async (...addresses: string[]) => [...(await seen.stillUsed(addresses, signal))].join(" ");
    // A worker of before the reload may still be ending.
    await eventually(() => used("127.0.0.6", "127.0.0.8", "::8"), are("127.0.0.6"));
    proxy.replace(["127.0.0.7:80"]);
    assert.equal(await used("127.0.0.6", "127.0.0.9"), "127.0.0.6", "the workers have read it");
    assert.equal(seen.reason?.(), undefined, "a reload may follow");
    await eventually(
      async () => (await used("127.0.0.6"), seen.reason?.() ?? ""),
      (reason) => /^not reloaded since its files changed at 20[0-9T:-]{17}Z$/.test(reason),
    );
    // It has not seen what they have read.
    const fresh = nginx(proxy.file, proxy.pidFile);
    assert.deepEqual([...(await fresh.stillUsed(["127.0.0.9"], signal))], ["127.0.0.9"]);
    assert.match(fresh.reason?.() ?? "", /^not reloaded/);
    proxy.reload();
    await eventually(() => used("127.0.0.6"), are());
    assert.equal(seen.reason?.(), undefined);
  });

  it("nginx waits for a reload that is under way and has read an address that its workers have not", async () => {
    const log = join(directory, "late-log");
    execFileSync("mkfifo", [log]);
    let reader = openSync(log, "r+");
    await using proxy = new Nginx("late", ["127.0.0.6:80"], log);
    const used = async (...addresses: string[]) =>
      [...(await proxy.seen.stillUsed(addresses, signal))].join(" ");
    await eventually(() => used("127.0.0.6", "127.0.0.8"), are("127.0.0.6"));
    closeSync(reader);
    proxy.replace(["127.0.0.5:80", "127.0.0.6:80"]);
    await proxy.beginReload();
    proxy.replace(["127.0.0.6:80"]);
    assert.equal(await used("127.0.0.5"), "127.0.0.5");
    const before = proxy.children;
    reader = openSync(log, "r+");
    await eventually(
      () => Promise.resolve(proxy),
      ({ children, state }) => state.isResting && children.some((child) => !before.includes(child)),
    );
    assert.equal(await used("127.0.0.5"), "127.0.0.5", "its new workers have it");
    proxy.reload();
    await eventually(() => used("127.0.0.5"), are());
    closeSync(reader);
  });

  it("nginx says nothing while two masters have workers", async () => {
    await using proxy = new Nginx("upgraded", ["127.0.0.5:80"]);
    await eventually(uses(proxy.seen), are("127.0.0.5"));
    writeFileSync(`${proxy.pidFile}.oldbin`, "1\n");
    await assert.rejects(proxy.seen.stillUsed(pods, signal), /is being replaced/);
  });
});
