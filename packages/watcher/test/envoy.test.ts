import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, get, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { OperatorError } from "@lameduck/protocol";
import fc from "fast-check";
import { askHttp } from "../src/consumers/ask.ts";
import { clustersIn, envoyKind, hostsInUse } from "../src/consumers/envoy.ts";
import { panicThresholds } from "../src/consumers/envoy-panic.ts";
import { eventually, freePort, programOf, running } from "./live.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-envoy-"));
after(() => rmSync(directory, { recursive: true }));
const { signal } = new AbortController();
const socket = (address: string) => ({ address: { socket_address: { address, port_value: 80 } } });
const internal = (endpoint_id?: string) => ({
  address: { envoy_internal_address: { server_listener_name: "connect_originate", endpoint_id } },
});
const listing = (...host_statuses: object[]): string =>
  JSON.stringify({ cluster_statuses: [{ name: "pods", host_statuses }] });

it("a host behind a tunnel of Envoy's own counts by the address that it leads to", () => {
  const hosts = [
    internal("10.0.0.1:8080"),
    internal("[fd00::1]:8080"),
    internal("web.shop.svc:80"),
    internal(),
    { address: { pipe: { path: "/x" } } },
    socket("10.0.0.2"),
  ];
  const used = (...all: object[]): string[] => [...hostsInUse(clustersIn(listing(...all), "x"), () => 0)];
  assert.deepEqual(used(...hosts), ["10.0.0.1", "fd00::1", "10.0.0.2"]);
  assert.throws(() => used({ address: { other: {} } }), /unknown kind/);
});

/** An administration interface at a Unix socket, as that of Contour's Envoy; what it says is changed by the test. */
async function admin(t: TestContext) {
  const says = {
    hosts: [] as object[],
    state: "LIVE",
    misses: { "workers.watchdog_miss": 0 } as object,
    /** What the configuration has of the cluster, and the runtime. */
    cluster: {} as object | undefined,
    runtime: {} as object,
  };
  const path = join(directory, `${t.name.length}.sock`);
  const server: Server = createServer((request, response) => {
    const stats = Object.entries(says.misses).map(([name, value]) => ({ name, value: value as unknown }));
    const answers: Readonly<Record<string, () => string>> = {
      "/clusters": () => listing(...says.hosts),
      "/server_info": () => JSON.stringify({ state: says.state }),
      "/stats": () => JSON.stringify({ stats }),
      "/runtime": () => JSON.stringify({ entries: says.runtime, layers: [] }),
      "/config_dump": () => {
        const isStatic = searchParams.get("resource") === "static_clusters";
        const configs = isStatic ? [] : says.cluster && [{ cluster: { name: "pods", ...says.cluster } }];
        return JSON.stringify(configs === undefined ? { configs: {} } : { configs });
      },
    };
    const { pathname, searchParams } = new URL(request.url ?? "", "http://envoy");
    const answer = answers[pathname];
    response.writeHead(answer && request.method === "GET" ? 200 : 404).end(answer?.());
  }).listen(path);
  await once(server, "listening");
  t.after(() => server.close());
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const consumer = envoyKind.make(path);
  assert.ok(consumer);
  /** What is used so many milliseconds later. */
  const usedAfter = async (ms: number): Promise<string[]> => {
    now += ms;
    return [...(await consumer.stillUsed(["10.0.0.1", "10.0.0.2"], signal))];
  };
  return { says, usedAfter, consumer };
}

describe("workers of Envoy take a change over later than the answer has it", () => {
  it("a host that is gone counts as used until every worker has turned", async (t) => {
    const { says, usedAfter } = await admin(t);
    says.hosts = [socket("10.0.0.1"), socket("10.0.0.2")];
    assert.deepEqual(await usedAfter(0), ["10.0.0.1", "10.0.0.2"]);
    says.hosts = [socket("10.0.0.2")];
    assert.deepEqual(await usedAfter(5_000), ["10.0.0.2", "10.0.0.1"]);
    assert.deepEqual(await usedAfter(699), ["10.0.0.2", "10.0.0.1"]);
    assert.deepEqual(await usedAfter(1), ["10.0.0.2"]);
  });

  it("a worker that stands still, as the watchdog counts, begins the time anew; so does a host that comes back", async (t) => {
    const { says, usedAfter } = await admin(t);
    assert.equal((await usedAfter(0)).length, 2);
    says.misses = { "workers.watchdog_miss": 1 };
    assert.equal((await usedAfter(650)).length, 2);
    says.misses = { "workers.watchdog_miss": 2 };
    assert.equal((await usedAfter(650)).length, 2);
    says.hosts = [socket("10.0.0.1")];
    assert.equal((await usedAfter(650)).length, 2);
    says.hosts = [];
    assert.equal((await usedAfter(50)).length, 2);
    assert.equal((await usedAfter(399)).length, 2);
    assert.deepEqual(await usedAfter(1), ["10.0.0.1"]);
    assert.deepEqual(await usedAfter(299), ["10.0.0.1"]);
    assert.deepEqual(await usedAfter(1), []);
    // Nothing was counted for so long: the worker has turned.
    says.hosts = [socket("10.0.0.1"), socket("10.0.0.2")];
    assert.equal((await usedAfter(1)).length, 2);
    says.hosts = [];
    assert.equal((await usedAfter(1)).length, 2);
    assert.equal((await usedAfter(700)).length, 0);
  });

  it("a worker that has stood still for long already is waited for until the statistics were flushed twice", async (t) => {
    const { says, usedAfter, consumer } = await admin(t);
    const long = { "workers.watchdog_miss": 1, "workers.watchdog_mega_miss": 1 };
    says.misses = { ...long, "server.uptime": 10 };
    for (let count = 0; count < 3; count++) assert.equal((await usedAfter(1_000)).length, 2);
    assert.equal(consumer.reason?.(), "a worker has stood still for a second");
    says.misses = { ...long, "server.uptime": 15 };
    for (let count = 0; count < 3; count++) assert.equal((await usedAfter(1_000)).length, 2);
    says.misses = { ...long, "server.uptime": 20 };
    assert.equal((await usedAfter(0)).length, 0);
    assert.equal(consumer.reason?.(), undefined);
    // That stall is over.
    says.hosts = [socket("10.0.0.1"), socket("10.0.0.2")];
    assert.equal((await usedAfter(0)).length, 2);
    says.hosts = [];
    assert.equal((await usedAfter(0)).length, 2);
    assert.equal((await usedAfter(700)).length, 0);
  });

  it("a long stall that was counted when the watcher started costs no time later", async (t) => {
    const { says, usedAfter, consumer } = await admin(t);
    const long = { "workers.watchdog_miss": 1, "workers.watchdog_mega_miss": 1 };
    says.misses = { ...long, "server.uptime": 10 };
    await consumer.stillUsed([], signal);
    says.misses = { ...long, "server.uptime": 70 };
    assert.equal((await usedAfter(60_000)).length, 2);
    assert.equal((await usedAfter(700)).length, 0);
  });

  it("where workers are counted all the time, flushes of the statistics are enough", async (t) => {
    const { says, usedAfter } = await admin(t);
    for (const [misses, uptime, left] of [
      [1, 10, 2],
      [2, 15, 2],
      [3, 15, 2],
      [4, 20, 0],
    ]) {
      says.misses = { "workers.watchdog_miss": misses, "server.uptime": uptime };
      assert.equal((await usedAfter(500)).length, left, `${misses}`);
    }
  });

  it("where no watchdog or no flush is seen the time is longer", async (t) => {
    const { says, usedAfter } = await admin(t);
    for (const misses of [{}, { "workers.watchdog_mega_miss": 1 }]) {
      says.misses = misses;
      assert.equal((await usedAfter(0)).length, 2);
      assert.equal((await usedAfter(1_999)).length, 2);
      assert.equal((await usedAfter(1)).length, 0);
    }
  });

  it("an Envoy that has just started lists nothing, and has let go of nothing; one that ends still serves", async (t) => {
    const { says, usedAfter } = await admin(t);
    for (const state of ["PRE_INITIALIZING", "INITIALIZING", undefined, "OTHER"]) {
      says.state = state as string;
      await assert.rejects(usedAfter(1_000), /not initialised/);
    }
    says.state = "DRAINING";
    assert.equal((await usedAfter(0)).length, 2);
    assert.equal((await usedAfter(700)).length, 0);
  });
});

/** A host as EDS describes it, at a priority. */
const host = (address: string, eds_health_status: string, more: object = {}): object => ({
  ...socket(address),
  health_status: { eds_health_status },
  ...more,
});

describe("a host that drains is chosen while Envoy is in panic mode", () => {
  const percent = (value?: number): object => ({ common_lb_config: { healthy_panic_threshold: { value } } });
  const drains = host("10.0.0.1", "DRAINING");
  const [healthy, failing] = [host("10.0.9.1", "HEALTHY"), host("10.0.9.2", "UNHEALTHY")];
  const ways: readonly {
    readonly what: string;
    readonly hosts?: readonly object[];
    readonly cluster?: object;
    readonly runtime?: string;
    readonly isUsed: boolean;
  }[] = [
    { what: "as many as Envoy's own threshold says are healthy", isUsed: false },
    { what: "fewer are healthy", hosts: [drains, healthy, failing], isUsed: true },
    { what: "none is healthy", hosts: [drains], isUsed: true },
    { what: "the cluster has a higher threshold", cluster: percent(51), isUsed: true },
    { what: "the cluster's threshold is rounded up", cluster: percent(50.2), isUsed: true },
    {
      what: "the cluster has a lower one",
      hosts: [drains, healthy, failing],
      cluster: percent(33),
      isUsed: false,
    },
    { what: "the cluster never panics", hosts: [drains], cluster: percent(), isUsed: false },
    { what: "the cluster's threshold is unreadable", cluster: percent(-1), isUsed: true },
    { what: "the runtime has a higher threshold", cluster: percent(0), runtime: "51", isUsed: true },
    { what: "the runtime's is unreadable", cluster: percent(0), runtime: "", isUsed: true },
    { what: "the runtime never panics", hosts: [drains], runtime: "0", isUsed: false },
    {
      what: "the healthy ones are of another priority",
      hosts: [host("10.0.0.1", "DRAINING", { priority: 1 }), healthy, healthy, healthy],
      isUsed: true,
    },
    {
      what: "the failing ones are of another priority",
      hosts: [drains, healthy, { ...failing, priority: 1 }, { ...failing, priority: 1 }],
      isUsed: false,
    },
    { what: "the cluster has subsets", cluster: { lb_subset_config: {} }, isUsed: true },
    {
      what: "a policy of the cluster has subsets",
      cluster: { load_balancing_policy: { policies: [{ name: "envoy.load_balancing_policies.subset" }] } },
      isUsed: true,
    },
    {
      what: "a policy of the cluster takes the host that a request names",
      cluster: {
        load_balancing_policy: {
          policies: [{ typed_extension_config: { name: "envoy.load_balancing_policies.override_host" } }],
        },
      },
      isUsed: true,
    },
    {
      what: "sessions may be kept to it",
      cluster: { common_lb_config: { override_host_status: { statuses: ["HEALTHY", "DRAINING"] } } },
      isUsed: true,
    },
  ];
  for (const { what, hosts = [drains, healthy], cluster = {}, runtime, isUsed } of ways)
    it(`it ${isUsed ? "counts as used" : "is let go of"} where ${what}`, async (t) => {
      const { says, usedAfter } = await admin(t);
      says.hosts = [...hosts];
      says.cluster = cluster;
      if (runtime !== undefined)
        says.runtime = { "upstream.healthy_panic_threshold": { layer_values: [""], final_value: runtime } };
      await usedAfter(0);
      assert.deepEqual(await usedAfter(700), isUsed ? ["10.0.0.1"] : []);
    });

  it("nothing is reported of it where the configuration cannot be read", async (t) => {
    const { says, usedAfter } = await admin(t);
    says.hosts = [drains, healthy];
    says.cluster = undefined;
    await assert.rejects(usedAfter(0), /should be/);
    says.hosts = [healthy];
    assert.equal((await usedAfter(0)).length, 2, "no host drains, and nobody asks");
  });

  it("a cluster that is not named has no threshold, whatever the answers are", () => {
    const json = fc.json();
    const cluster = fc.record(
      {
        name: fc.constantFrom("pods", "other"),
        common_lb_config: fc.jsonValue(),
        lb_subset_config: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const dump = fc.oneof(
      json,
      fc.array(fc.record({ cluster })).map((configs) => JSON.stringify({ configs })),
    );
    const runtime = fc.oneof(json, fc.constant('{"entries":{},"layers":[]}'));
    fc.assert(
      fc.property(fc.array(dump, { maxLength: 2 }), runtime, (dumps, own) => {
        try {
          const threshold = panicThresholds(dumps, own, "x");
          assert.equal(threshold("unnamed"), Infinity);
          assert.ok(threshold("pods") >= 0);
        } catch (error) {
          assert.ok(error instanceof OperatorError, String(error));
        }
      }),
    );
    const deep = `{"configs":[{"cluster":{"name":"pods","load_balancing_policy":${"[".repeat(50_000)}${"]".repeat(50_000)}}}]}`;
    assert.throws(() => panicThresholds([deep], "{}", "x"), OperatorError);
  });
});

const program = programOf("envoy");
/** A server at each address that counts its requests, on one port. */
async function servers(t: TestContext, addresses: readonly string[]) {
  const port = await freePort();
  const counts = new Map(addresses.map((address) => [address, 0]));
  for (const address of addresses) {
    const server = createServer((_, response) => {
      counts.set(address, (counts.get(address) ?? 0) + 1);
      response.end();
    }).listen(port, address);
    await once(server, "listening");
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
  }
  return { port, counts };
}

describe("a real Envoy", program === undefined ? { skip: "no envoy here" } : {}, () => {
  it("no worker sends to a host that was let go of, also where workers had stood still", async (t) => {
    const [kept, leaving] = ["127.0.0.6", "127.0.0.5"];
    const port = await freePort();
    const at = new Map<string, number>();
    for (const address of [kept, leaving]) {
      const server = createServer((_, response) => {
        at.set(address, performance.now());
        response.end();
      }).listen(port, address);
      await once(server, "listening");
      t.after(() => {
        server.close();
        server.closeAllConnections();
      });
    }
    const endpoints = join(directory, "eds.json");
    const discover = (...hosts: string[]): void => {
      const type = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
      const lb_endpoints = hosts.map((address) => ({
        endpoint: { address: { socket_address: { address, port_value: port } } },
      }));
      const resources = [{ "@type": type, cluster_name: "pods", endpoints: [{ lb_endpoints }] }];
      writeFileSync(`${endpoints}.new`, JSON.stringify({ resources }));
      renameSync(`${endpoints}.new`, endpoints);
    };
    discover(kept, leaving);
    const file = join(directory, "envoy.json");
    const adminSocket = join(directory, "admin.sock");
    const listener = await freePort();
    writeFileSync(file, JSON.stringify(configuration({ endpoints, adminSocket, listener })));
    await using _ = running(program ?? "", ["-c", file, "--concurrency", "2", "--use-dynamic-base-id"]);
    const consumer = envoyKind.make(adminSocket);
    assert.ok(consumer);
    const used = async (): Promise<number> => (await consumer.stillUsed([leaving], signal)).size;
    await eventually(used, (size) => size === 1);
    const ask = (headers: Record<string, string> = {}): void => {
      const options = { port: listener, agent: false as const, headers };
      get(options, (response) => response.resume()).on("error", () => undefined);
    };
    const load = setInterval(ask, 5);
    t.after(() => clearInterval(load));
    await eventually(
      () => Promise.resolve(at.size),
      (size) => size === 2,
    );
    // Some of these meet each of the two workers.
    for (let count = 0; count < 12; count++) ask({ "x-stall": "yes" });
    const longMisses = (): Promise<string> =>
      askHttp(new URL("http://envoy/stats?filter=worker_.*watchdog_mega_miss"), signal, {
        socketPath: adminSocket,
      });
    await eventually(longMisses, (counts) => (counts.match(/: [1-9]/g) ?? []).length === 2);
    discover(kept);
    await eventually(used, (size) => size === 0);
    const letGoAt = performance.now();
    const answeredSince = (): Promise<boolean> => Promise.resolve((at.get(kept) ?? 0) > letGoAt + 2_000);
    await eventually(answeredSince, Boolean);
    assert.ok(
      (at.get(leaving) ?? 0) <= letGoAt,
      `${(at.get(leaving) ?? 0) - letGoAt} ms after it was let go of`,
    );
  });
});

describe(
  "a real Envoy with fewer healthy hosts than its threshold",
  program === undefined ? { skip: "no envoy here" } : {},
  () => {
    for (const [percent, isChosen] of [
      [undefined, true],
      [0, false],
      [20, false],
      [100, true],
    ] as const)
      it(`it ${isChosen ? "sends" : "does not send"} to one that drains, and the reader says so: threshold ${percent ?? "not given"}`, async (t) => {
        const states = {
          "127.0.0.5": "DRAINING",
          "127.0.0.6": "HEALTHY",
          "127.0.0.7": "UNHEALTHY",
          "127.0.0.8": "UNHEALTHY",
        };
        const { port, counts } = await servers(t, Object.keys(states));
        const endpoints = join(directory, `panic-${percent}.json`);
        const lb_endpoints = Object.entries(states).map(([address, health_status]) => ({
          health_status,
          endpoint: { address: { socket_address: { address, port_value: port } } },
        }));
        const type = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
        const resources = [{ "@type": type, cluster_name: "pods", endpoints: [{ lb_endpoints }] }];
        writeFileSync(endpoints, JSON.stringify({ resources }));
        const file = join(directory, `panic-${percent}-envoy.json`);
        const adminSocket = join(directory, `panic-${percent}.sock`);
        const listener = await freePort();
        writeFileSync(file, JSON.stringify(configuration({ endpoints, adminSocket, listener }, percent)));
        await using _ = running(program ?? "", ["-c", file, "--concurrency", "1", "--use-dynamic-base-id"]);
        const consumer = envoyKind.make(adminSocket);
        assert.ok(consumer);
        const uses = async (): Promise<string> =>
          [...(await consumer.stillUsed(Object.keys(states), signal))].sort().join(" ");
        const others = "127.0.0.6 127.0.0.7 127.0.0.8";
        await eventually(uses, (used) => used === (isChosen ? `127.0.0.5 ${others}` : others));
        const ask = (): Promise<void> =>
          new Promise((resolve) => {
            const asked = get({ port: listener, agent: false }, (response) =>
              response.resume().on("close", resolve),
            );
            asked.on("error", () => resolve());
          });
        for (let count = 0; count < 40; count++) await ask();
        assert.ok((counts.get("127.0.0.6") ?? 0) > 0);
        assert.equal((counts.get("127.0.0.5") ?? 0) > 0, isChosen, JSON.stringify([...counts]));
      });
  },
);

/** A worker that is asked with x-stall stands still for more than a second. */
function configuration(
  where: { endpoints: string; adminSocket: string; listener: number },
  panicPercent?: number,
): object {
  const extension = "type.googleapis.com/envoy.extensions.filters";
  const inline_string = `function envoy_on_request(handle)
  if handle:headers():get("x-stall") then
    local began = handle:timestamp()
    while handle:timestamp() - began < 1200 do end
  end
end`;
  const lua = { "@type": `${extension}.http.lua.v3.Lua`, default_source_code: { inline_string } };
  const manager = {
    "@type": `${extension}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: "in",
    route_config: {
      virtual_hosts: [
        { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "pods" } }] },
      ],
    },
    http_filters: [
      { name: "lua", typed_config: lua },
      { name: "router", typed_config: { "@type": `${extension}.http.router.v3.Router` } },
    ],
  };
  const filters = [{ name: "manager", typed_config: manager }];
  const address = { socket_address: { address: "127.0.0.1", port_value: where.listener } };
  const eds_config = { resource_api_version: "V3", path_config_source: { path: where.endpoints } };
  return {
    node: { id: "test", cluster: "test" },
    admin: { address: { pipe: { path: where.adminSocket } } },
    static_resources: {
      listeners: [{ address, filter_chains: [{ filters }] }],
      clusters: [
        {
          name: "pods",
          type: "EDS",
          connect_timeout: "1s",
          eds_cluster_config: { service_name: "pods", eds_config },
          ...(panicPercent === undefined
            ? {}
            : { common_lb_config: { healthy_panic_threshold: { value: panicPercent } } }),
        },
      ],
    },
  };
}
