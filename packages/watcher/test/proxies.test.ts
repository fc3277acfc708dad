import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect, createServer as createSocketServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { text } from "node:stream/consumers";
import { OperatorError } from "@lameduck/protocol";
import fc from "fast-check";
import { backendsOf, cilium } from "../src/consumers/cilium.ts";
import type { Consumer } from "../src/consumer.ts";
import { clustersIn, envoy, hostsInUse } from "../src/consumers/envoy.ts";
import { haproxy, workersIn } from "../src/consumers/haproxy.ts";
import { httpEndpoint } from "../src/consumers/http.ts";
import { serversOf, traefik } from "../src/consumers/traefik.ts";
import { endpointsIn } from "../src/consumers/ztunnel.ts";
import { eventually, freePort, programOf, running } from "./live.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-proxies-"));
after(() => rmSync(directory, { recursive: true }));
const { signal } = new AbortController();
const fixture = (name: string): string => readFileSync(join(import.meta.dirname, "fixtures", name), "utf8");
const pods = ["127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8", "::1"];

const uses = (consumer: Consumer) => async () => [...(await consumer.stillUsed(pods, signal))].join(" ");
const are =
  (...addresses: string[]) =>
  (used: string): boolean =>
    used === addresses.join(" ");
const skipWithout = (name: string): { skip?: string } =>
  programOf(name) === undefined ? { skip: `no ${name} here` } : {};

describe("HAProxy, the real one", skipWithout("haproxy"), () => {
  it("HAProxy lets go of servers in maintenance, and of no others", async () => {
    const socket = join(directory, "haproxy.sock");
    const file = join(directory, "haproxy.cfg");
    const port = await freePort();
    writeFileSync(
      file,
      `global
  stats socket ${socket} mode 600 level admin
  stats socket ipv4@127.0.0.1:${port} level user
defaults
  mode http
  timeout connect 1s
  timeout client 1s
  timeout server 1s
backend pods
  server-template free 2 0.0.0.0:80 disabled
  server a 127.0.0.5:80
  server b 127.0.0.6:80
  server c 127.0.0.7:80
  server d [::1]:80
`,
    );
    await using _ = running(programOf("haproxy") ?? "", ["-db", "-f", file]);
    const seen = haproxy({ path: socket });
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.6", "127.0.0.7", "::1"));
    const tell = async (command: string): Promise<void> => {
      await text(connect(socket).end(`${command}\n`));
    };
    await tell("set server pods/a state maint");
    // Clients that are bound to a server that drains are still sent there.
    await tell("set server pods/b state drain");
    await tell("set server pods/free1 addr 127.0.0.8 port 80");
    await tell("set server pods/free1 state ready");
    await eventually(uses(seen), are("127.0.0.6", "127.0.0.7", "127.0.0.8", "::1"));
    await eventually(
      uses(haproxy({ host: "127.0.0.1", port })),
      are("127.0.0.6", "127.0.0.7", "127.0.0.8", "::1"),
    );
  });

  it("after a reload the master's CLI tells of the servers of old workers until these end; one worker's does not", async (t) => {
    const [master, socket] = [join(directory, "master.sock"), join(directory, "worker.sock")];
    const file = join(directory, "master.cfg");
    const port = await freePort();
    const serve = (...servers: readonly string[]): void =>
      writeFileSync(
        file,
        `global
  stats socket ${socket} mode 600 level admin
defaults
  mode tcp
  timeout connect 1s
  timeout client 1m
  timeout server 1m
frontend in
  bind 127.0.0.1:${port}
  default_backend pods
backend pods
${servers.map((one, at) => `  server s${at} ${one}`).join("\n")}
`,
      );
    const old = createSocketServer().listen(0, "127.0.0.5");
    await once(old, "listening");
    const accepted = new Promise<Socket>((resolve) => old.once("connection", resolve));
    serve(`127.0.0.5:${(old.address() as AddressInfo).port}`);
    await using haproxyProcess = running(programOf("haproxy") ?? "", ["-W", "-db", "-f", file, "-S", master]);
    const [seen, seenByOne] = [haproxy({ path: master }), haproxy({ path: socket })];
    await eventually(uses(seen), are("127.0.0.5"));
    const client = connect(port, "127.0.0.1");
    t.after(() => {
      client.destroy();
      old.close();
    });
    const atPod = await accepted;
    serve("127.0.0.6:80");
    haproxyProcess.process.kill("SIGUSR2");
    await eventually(uses(seenByOne), are("127.0.0.6"));
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.6"));
    client.destroy();
    atPod.destroy();
    await eventually(uses(seen), are("127.0.0.6"));
  });

  it("a master of which no worker serves, and an answer that is not as expected, are not understood", () => {
    const head = "#<PID>          <type>          <reloads>\n1               master          1\n";
    const worker = (pid: number): string => `${pid}            worker          0 [failed: 0]\n`;
    const whole = `${head}# workers\n${worker(8)}# old workers\n${worker(7)}# programs\n9     mine      0\n\n`;
    assert.deepEqual(workersIn(whole), [
      { pid: "8", isOld: false },
      { pid: "7", isOld: true },
    ]);
    assert.equal(workersIn("Unknown command: 'show proc', but maybe\n\n"), undefined);
    for (const [text, problem] of [
      ["", /master/],
      ["Permission denied\n\n", /master/],
      [whole.slice(0, -1), /cut off/],
      [`${head}# workers\n# old workers\n${worker(7)}# programs\n\n`, /no worker serves/],
      [`${head}# workers\n8 other 0\n\n`, /no worker: 8/],
    ] as const)
      assert.throws(() => workersIn(text), problem);
    fc.assert(
      fc.property(fc.nat({ max: whole.length - 1 }), (length) => {
        assert.throws(() => workersIn(whole.slice(0, length)), OperatorError);
      }),
    );
  });

  it("what HAProxy's master tells is not understood where a reload starts a worker while others are asked", async (t) => {
    const head = "#<PID>          <type>          <reloads>\n1               master          1\n# workers\n";
    const row = (pid: number): string => `${pid}            worker          0\n`;
    const servers = "1\n# srv_addr srv_op_state srv_admin_state\n127.0.0.5 2 0\n\n";
    let asked = 0;
    let [before, later] = [row(8), row(8)];
    const server = createSocketServer((socket) =>
      socket.once("data", (data) => {
        const isList = data.toString().startsWith("show proc");
        const rows = asked++ === 0 ? before : later;
        socket.end(isList ? `${head}${rows}\n` : servers);
      }),
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const seen = uses(haproxy({ host: "127.0.0.1", port }));
    assert.equal(await seen(), "127.0.0.5");
    [asked, later] = [0, `${row(9)}# old workers\n${row(8)}`];
    await assert.rejects(seen(), /a worker has started meanwhile/);
    // One that has ended since leaves nothing to ask.
    [asked, before, later] = [0, later, row(9)];
    assert.equal(await seen(), "127.0.0.5");
  });

  it("the consumer HAProxy throws when the program is gone", async () => {
    await assert.rejects(
      haproxy({ path: join(directory, "none.sock") }).stillUsed(pods, signal),
      /none\.sock/,
    );
  });
});

describe("Envoy", () => {
  it("Envoy lets go of hosts that drain or are gone, by an answer of Envoy 1.40", () => {
    const clusters = clustersIn(fixture("envoy-clusters.json"), "x");
    assert.deepEqual([...hostsInUse(clusters, () => 50)], ["127.0.0.5", "127.0.0.7", "::1"]);
  });

  it("Envoy in panic mode keeps hosts that drain, because so few hosts are healthy that it sends to all", () => {
    const host = (address: string, eds_health_status: string, more = {}): object => ({
      address: { socket_address: { address, port_value: 80 } },
      health_status: { eds_health_status, ...more },
    });
    const used = (...host_statuses: object[]): string[] => [
      ...hostsInUse(
        clustersIn(JSON.stringify({ cluster_statuses: [{ name: "pods", host_statuses }] }), "x"),
        () => 50,
      ),
    ];
    const drains = host("10.0.0.1", "DRAINING");
    const healthy = host("10.0.0.2", "HEALTHY");
    const failing = host("10.0.0.3", "HEALTHY", { failed_active_health_check: true });
    assert.deepEqual(used(drains, healthy), ["10.0.0.2"]);
    assert.deepEqual(used(drains), ["10.0.0.1"]);
    assert.deepEqual(used(drains, healthy, failing), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  });

  it("a real Envoy lets go of hosts by its endpoint discovery", skipWithout("envoy"), async () => {
    const port = await freePort();
    const endpoints = join(directory, "eds.json");
    const discover = (hosts: Readonly<Record<string, string>>): void => {
      const lb_endpoints = Object.entries(hosts).map(([address, health_status]) => ({
        health_status,
        endpoint: { address: { socket_address: { address, port_value: 80 } } },
      }));
      const type = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
      const resources = [{ "@type": type, cluster_name: "pods", endpoints: [{ lb_endpoints }] }];
      writeFileSync(`${endpoints}.new`, JSON.stringify({ resources }));
      renameSync(`${endpoints}.new`, endpoints);
    };
    discover({
      "127.0.0.5": "HEALTHY",
      "127.0.0.6": "DRAINING",
      "127.0.0.7": "UNHEALTHY",
      "127.0.0.8": "HEALTHY",
    });
    const eds_config = { resource_api_version: "V3", path_config_source: { path: endpoints } };
    const file = join(directory, "envoy.json");
    writeFileSync(
      file,
      JSON.stringify({
        node: { id: "test", cluster: "test" },
        admin: { address: { socket_address: { address: "127.0.0.1", port_value: port } } },
        static_resources: {
          clusters: [
            {
              name: "pods",
              type: "EDS",
              connect_timeout: "1s",
              eds_cluster_config: { service_name: "pods", eds_config },
            },
          ],
        },
      }),
    );
    await using _ = running(programOf("envoy") ?? "", [
      "-c",
      file,
      "--concurrency",
      "1",
      "--use-dynamic-base-id",
    ]);
    const seen = envoy(new URL(`http://127.0.0.1:${port}`));
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.7", "127.0.0.8"));
    discover({ "127.0.0.7": "DRAINING", "127.0.0.8": "HEALTHY" });
    await eventually(uses(seen), are("127.0.0.8"));
  });
});

describe("Traefik", () => {
  it("Traefik lets go of servers that no service lists, healthy or not, by an answer of Traefik 3.7", () => {
    assert.deepEqual(
      [...serversOf(fixture("traefik-rawdata.json"), "x")],
      ["127.0.0.5", "127.0.0.6", "::1", "127.0.0.9"],
    );
  });

  it("Traefik lets go of fenced servers, save where a sticky cookie or another service leads to them", () => {
    const at = (address: string, fenced?: unknown): object => ({ url: `http://${address}:80`, fenced });
    const used = (...services: readonly object[]): string => {
      const named = services.map((loadBalancer, index) => [`s${index}@kubernetescrd`, { loadBalancer }]);
      const data = { routers: {}, services: Object.fromEntries(named) as object };
      return [...serversOf(JSON.stringify(data), "x")].join(" ");
    };
    const servers = [at("10.0.0.1", true), at("10.0.0.2")];
    assert.equal(used({ servers }), "10.0.0.2");
    assert.equal(used({ servers: [at("10.0.0.1", true)] }), "", "no other is left, and none is chosen");
    assert.equal(used({ servers, sticky: { cookie: { name: "id" } } }), "10.0.0.1 10.0.0.2");
    assert.equal(used({ servers }, { servers: [at("10.0.0.1")] }), "10.0.0.2 10.0.0.1");
    assert.throws(() => used({ servers: [at("10.0.0.1", "true")] }), /fenced/);
  });

  it("a real Traefik lets go of servers by its configuration", skipWithout("traefik"), async () => {
    const [api, web] = [await freePort(), await freePort()];
    const file = join(directory, "traefik.json");
    const dynamic = join(directory, "dynamic");
    mkdirSync(dynamic);
    const serve = (addresses: readonly string[]): void => {
      const servers = addresses.map((address) => ({ url: `http://${address}:80` }));
      const http = {
        routers: { pods: { rule: "PathPrefix(`/`)", service: "pods", entryPoints: ["web"] } },
        services: { pods: { loadBalancer: { servers } } },
      };
      writeFileSync(join(directory, "new"), JSON.stringify({ http }));
      renameSync(join(directory, "new"), join(dynamic, "pods.yml"));
    };
    serve(["127.0.0.5", "127.0.0.6"]);
    writeFileSync(
      file.replace("json", "yml"),
      JSON.stringify({
        entryPoints: { web: { address: `127.0.0.1:${web}` }, traefik: { address: `127.0.0.1:${api}` } },
        api: { insecure: true, dashboard: false },
        providers: { file: { directory: dynamic, watch: true } },
      }),
    );
    await using _ = running(programOf("traefik") ?? "", [`--configFile=${file.replace("json", "yml")}`]);
    const seen = traefik(new URL(`http://127.0.0.1:${api}`));
    await eventually(uses(seen), are("127.0.0.5", "127.0.0.6"));
    serve(["127.0.0.6"]);
    await eventually(uses(seen), are("127.0.0.6"));
  });
});

describe("Cilium, by its documented API", () => {
  const services = (...backends: readonly object[]): string =>
    JSON.stringify([{ spec: {}, status: { realized: { id: 1, "backend-addresses": backends } } }]);
  const used = (...states: readonly (string | undefined)[]): string => {
    const backends = states.map((state, index) => ({ ip: `10.0.0.${index + 1}`, state }));
    return [...backendsOf(services(...backends), "x")].map((address) => address.slice(-1)).join("");
  };

  it("Cilium chooses backends by their states, and those that terminate only where no other is active", () => {
    const others = ["terminating", "terminating-not-serving", "quarantined", "maintenance"];
    assert.equal(used("active", ...others), "14");
    assert.equal(used(...others), "13", "one in quarantine comes back by itself, and is not active now");
    assert.equal(used("terminating", "terminating-not-serving"), "1");
    assert.equal(used("terminating-not-serving", "maintenance"), "");
    assert.equal(
      used(undefined, "terminating"),
      "12",
      "a backend without a state is used, and may not be active",
    );
  });

  it("Cilium's states are read from an answer that the code of Cilium 1.19.0 wrote, without an agent", () => {
    // Of Frontend.ToModel: all five states in their order, and an active backend that is unhealthy.
    const used = [...backendsOf(fixture("cilium-service.json"), "x")];
    assert.deepEqual(used, ["10.0.0.1", "10.0.0.4", "10.0.0.6"]);
  });

  it("a state that is not known makes the answer unreadable, whatever else it says", () => {
    for (const state of ["draining", "", null, 1, {}])
      assert.throws(() => backendsOf(services({ ip: "10.0.0.1", state }, { ip: "10.0.0.2" }), "x"), /state/);
    assert.throws(() => backendsOf("[]", "x"), /no Service/);
  });

  it("Cilium is asked through its socket, and has let go when the kernel's maps have been written, too", async () => {
    const active = (ip: string): object => ({ ip, state: "active" });
    const socket = join(directory, "cilium.sock");
    let text = services(active("127.0.0.5"), active("127.0.0.6"));
    const server = createServer((request, response) =>
      response.writeHead(request.url === "/v1/service" ? 200 : 404).end(text),
    ).listen(socket);
    await once(server, "listening");
    await using _ = {
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      },
    };
    let now = 0;
    const asked = ["127.0.0.5", "127.0.0.6"];
    const consumer = cilium(socket, () => now);
    const left = async (): Promise<string> => [...(await consumer.stillUsed(asked, signal))].join(" ");
    assert.equal(await left(), "127.0.0.5 127.0.0.6");
    text = services(active("127.0.0.5"), { ip: "127.0.0.6", state: "terminating" });
    assert.equal(await left(), "127.0.0.5 127.0.0.6", "the agent says so before it has written it");
    now = 1_000;
    assert.equal(await left(), "127.0.0.5");
    text = services(active("127.0.0.6"));
    assert.equal(await left(), "127.0.0.5 127.0.0.6", "chosen again, the other one for the first time not");
  });
});

describe("ztunnel, by its published administration interface", () => {
  const workload = (uid: string, ...workloadIps: readonly string[]): object => ({
    uid,
    workloadIps,
    status: "Healthy",
  });
  const service = (...uids: readonly string[]): object => ({
    hostname: "web.shop.svc.cluster.local",
    endpoints: Object.fromEntries(
      uids.map((uid) => [uid, { workloadUid: uid, port: { 80: 8080 }, status: "Unhealthy" }]),
    ),
  });
  const dump = (services: readonly object[], staged: object = {}): string =>
    JSON.stringify({
      workloads: [workload("a", "10.0.0.1", "fd00::1"), workload("b", "10.0.0.2"), workload("far")],
      services,
      policies: [],
      stagedServices: staged,
    });
  const used = (text: string): string => [...endpointsIn(text, "x")].join(" ");

  it("ztunnel lets go of workloads that no service has as endpoints, though it knows them", () => {
    assert.equal(used(dump([service("a", "far"), service()])), "10.0.0.1 fd00::1");
    assert.equal(used(dump([service()], { "shop/late": { b: { workloadUid: "b" } } })), "10.0.0.2");
  });

  it("a ztunnel that knows no service, or an endpoint of nobody, is not understood", () => {
    for (const text of [dump([]), dump([service("c")]), "{}", dump([{ endpoints: [] }]), dump([{}])])
      assert.throws(() => used(text), /lists no service|not listed|no workloads|no object/);
  });
});

describe("an endpoint of the user's", () => {
  it("an endpoint of the user's is told the addresses, and says which are used", async () => {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        assert.deepEqual(JSON.parse(body), { version: 1, addresses: pods });
        response.end(JSON.stringify({ version: 1, used: ["127.0.0.6", "0:0:0::1"] }));
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    assert.equal(await uses(httpEndpoint(new URL(`http://127.0.0.1:${port}/used`)))(), "127.0.0.6 ::1");
    server.close();
  });
});
