import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesObject } from "@lameduck/kube";
import { ApiServer } from "../../kube/test/api-server.ts";
import { discoveredCloud } from "../src/clouds/bound-groups.ts";
import { CallBudget } from "../src/clouds/call-budget.ts";
import { Discovery } from "../src/clouds/discovery.ts";
import { ServiceGroups } from "../src/clouds/service-groups.ts";
import { Poller } from "../src/poller.ts";
import { Watermark } from "../src/watermark.ts";
import { parseWatcherFlags } from "../src/flags.ts";
import { awsError, cloudApi, targetGroups, targetHealth, type CloudAnswer } from "./cloud-apis.ts";
import { CoordinatorStandIn } from "./coordinator.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-discovery-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "secret\n");
after(() => rmSync(directory, { recursive: true }));
process.env["AWS_ACCESS_KEY_ID"] = "test";
process.env["AWS_SECRET_ACCESS_KEY"] = "test";

const arnOf = (name: string): string => `arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/${name}/1`;
const log = { info: () => undefined, warn: () => undefined };

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 3_000; tries++) {
    if (isTrue()) return;
    await delay(10);
  }
  assert.fail(`never: ${what}`);
}

/** An API server with TargetGroupBindings, AWS, a coordinator, and what stands between them. */
class Room implements AsyncDisposable {
  /** By the name of the target group. */
  readonly targets = new Map<string, Readonly<Record<string, string>>>();
  readonly refusals = new Map<string, CloudAnswer>();
  readonly #cleaning = new AsyncDisposableStack();
  readonly kubernetes: ApiServer;
  readonly coordinator: CoordinatorStandIn;
  readonly discovery: Discovery;
  readonly calls = new CallBudget(1_000, 1_000);
  /** Of the discovery. */
  now = 0;

  static async open(): Promise<Room> {
    const [kubernetes, coordinator] = await Promise.all([ApiServer.start(), CoordinatorStandIn.start()]);
    const room: Room = new Room(
      kubernetes,
      coordinator,
      await cloudApi((_, body) => room.#aws(body), "text/xml"),
    );
    return room;
  }

  private constructor(
    kubernetes: ApiServer,
    coordinator: CoordinatorStandIn,
    aws: Awaited<ReturnType<typeof cloudApi>>,
  ) {
    this.kubernetes = kubernetes;
    this.coordinator = coordinator;
    const cloud = discoveredCloud("aws", this.calls, aws.url);
    this.discovery = new Discovery({
      client: kubernetes.client(),
      cloud: { ...cloud, paths: cloud.paths.slice(0, 1) },
      log,
      coordinators: [coordinator.url],
      tokenFile,
      node: undefined,
      now: () => this.now,
    });
    this.#cleaning.use(aws);
    this.#cleaning.use(kubernetes);
    this.#cleaning.defer(() => coordinator.stop());
    this.#cleaning.defer(() => this.discovery.stop());
  }

  bind(name: string, service: string, spec: object = {}): void {
    const uid = `uid-${name}`;
    const metadata = { name, uid, namespace: "shop" };
    const own = {
      targetGroupARN: arnOf(name),
      targetType: "ip",
      serviceRef: { name: service, port: 80 },
      ...spec,
    };
    this.kubernetes.put(name, { metadata, spec: own }, uid);
  }

  /** The last report of each consumer. */
  reports(): Map<string, CoordinatorStandIn["reports"][number]["report"] & { readonly serves?: unknown }> {
    return new Map(
      this.coordinator.reports.map(({ path, report }) => [
        decodeURIComponent(path.split("/").at(-1) ?? ""),
        report,
      ]),
    );
  }

  #aws(body: string): CloudAnswer {
    const arn = decodeURIComponent(/arn[^&]*/.exec(body)?.[0] ?? "");
    const name = arn.split("/")[1] ?? "";
    const refusal = this.refusals.get(name);
    if (refusal) return refusal;
    if (body.includes("Action=DescribeTargetGroups")) return { text: targetGroups(arn, "HTTP") };
    const targets = this.targets.get(name);
    return targets ? { text: targetHealth(targets) } : awsError("TargetGroupNotFound");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleaning.disposeAsync();
  }
}

describe("load balancers of AWS, found in the cluster", () => {
  it("each Service with pods as targets is reported for, and lets go when all of its groups have", async () => {
    await using room = await Room.open();
    room.targets.set("web-http", { "10.0.0.1": "healthy" });
    room.targets.set("web-tls", { "10.0.0.1": "healthy" });
    room.targets.set("api", { "10.0.0.2": "healthy" });
    room.bind("web-http", "web");
    room.bind("web-tls", "web");
    room.bind("api", "api");
    room.bind("nodes", "by-nodes", { targetType: "instance" });
    room.discovery.start();
    await until("both report", () => room.reports().size === 2);
    assert.deepEqual(
      [...room.discovery.services],
      [
        ["shop/web", 2],
        ["shop/api", 1],
      ],
    );
    assert.deepEqual([...room.reports().keys()].sort(), ["aws/shop.api", "aws/shop.web"]);
    assert.deepEqual(room.reports().get("aws/shop.web")?.serves, ["load-balancer/aws/shop/web"]);
    room.coordinator.withdraw("10.0.0.1");
    const applied = (name: string): number => room.reports().get(`aws/shop.${name}`)?.applied ?? -1;
    await until("the other Service has let go", () => applied("api") === 1);
    assert.equal(applied("web"), 0);
    room.targets.set("web-http", { "10.0.0.1": "draining" });
    const calls = room.calls.calls;
    await until("both groups are read again", () => room.calls.calls >= calls + 2);
    assert.equal(applied("web"), 0, "one group has it");
    room.targets.set("web-tls", {});
    await until("the Service has let go", () => applied("web") === 1);
  });

  it("a group that cannot be read keeps its own Service, and no other", async () => {
    await using room = await Room.open();
    room.targets.set("good", {});
    room.refusals.set("bad", awsError("ExpiredToken", 403));
    room.targets.set("half", {});
    room.bind("good", "good");
    room.bind("bad", "bad");
    room.bind("half", "half");
    room.bind("of-another", "half", { iamRoleArnToAssume: "arn:aws:iam::2:role/x" });
    room.bind("by-name", "by-name", { targetGroupARN: undefined, targetGroupName: "x" });
    room.discovery.start();
    await until("all report", () => room.reports().size === 4);
    room.coordinator.withdraw("10.0.0.1");
    await until("the good one has let go", () => room.reports().get("aws/shop.good")?.applied === 1);
    const problems = (): string =>
      ["bad", "half", "by-name"]
        .map((name) => room.reports().get(`aws/shop.${name}`)?.problem ?? "")
        .join("; ");
    await until("the others say why", () => /ExpiredToken.*; .*another account.*; .*no ARN/.test(problems()));
    for (const name of ["bad", "half", "by-name"])
      assert.equal(room.reports().get(`aws/shop.${name}`)?.applied, 0, name);
    room.refusals.clear();
    room.targets.set("bad", {});
    await until("it is read again", () => room.reports().get("aws/shop.bad")?.applied === 1);
  });

  it("while TargetGroupBindings are not heard of nothing is reported as let go: there may be new ones", async () => {
    await using room = await Room.open();
    room.targets.set("web", {});
    room.bind("web", "web");
    room.discovery.start();
    await until("it reports", () => room.reports().size === 1);
    room.now += 100_000;
    room.coordinator.withdraw("10.0.0.1");
    const report = () => room.reports().get("aws/shop.web");
    await until("it says why", () => report()?.problem?.includes("are not kept up to date") === true);
    assert.equal(report()?.applied, 0);
    room.kubernetes.bookmark();
    await until("it has let go", () => report()?.applied === 1);
  });
});

describe("the groups of a Service", () => {
  const group = (id: string, used: readonly string[]) => ({
    id,
    reader: () => ({
      kind: "aws",
      basis: "state" as const,
      stillUsed: () => Promise.resolve(new Set(used)),
    }),
  });
  const { signal } = new AbortController();

  it("a read that waited long for its turn does not put off the next one", async (t) => {
    let now = 0;
    t.mock.method(performance, "now", () => now);
    const all = new ServiceGroups("aws", () => undefined);
    const stillUsed = (): Promise<ReadonlySet<string>> => {
      now += 60_000;
      return Promise.resolve(new Set());
    };
    all.name("a", [{ id: "one", reader: () => ({ kind: "aws", basis: "state", stillUsed }) }]);
    const poller = new Poller(all, () => undefined);
    const watermark = new Watermark();
    poller.subscribe({ watermark, advanced: () => undefined });
    for (const number of [1, 2]) {
      watermark.update(number, [[`10.0.0.${number}`, number]]);
      poller.wake();
      await until(`number ${number} is applied`, () => watermark.progress().applied === number);
    }
    await poller.stop();
  });

  it("a group that no object names any more is read for some time, since it may send yet", async () => {
    let now = 0;
    let isWhole = true;
    const all = new ServiceGroups(
      "aws",
      () => (isWhole ? undefined : "not listed"),
      () => now,
    );
    all.name("a", [group("one", ["10.0.0.1"])]);
    all.name("b", [group("one", ["10.0.0.1"]), group("two", [])]);
    all.name("a", []);
    all.name("b", [group("two", [])]);
    now = 100_000;
    all.forget();
    assert.deepEqual([...(await all.stillUsed(["10.0.0.1"], signal))], ["10.0.0.1"]);
    now = 240_000;
    all.forget();
    assert.deepEqual([...(await all.stillUsed(["10.0.0.1"], signal))], []);
    isWhole = false;
    await assert.rejects(all.stillUsed([], signal), /not listed/);
    isWhole = true;
    all.name("b", []);
    now = 480_000;
    all.forget();
    await assert.rejects(all.stillUsed([], signal), /no group any more/);
  });

  it("a group that cannot be read keeps its Service as long when its object goes, but not when its object names others", async () => {
    let now = 0;
    const all = new ServiceGroups(
      "aws",
      () => undefined,
      () => now,
    );
    const unread = { id: "TargetGroupBinding b", reader: { problem: "it names no ARN" } };
    all.name("a", [group("one", [])]);
    all.name("b", [unread]);
    all.name("b", []);
    now = 239_000;
    all.forget();
    await assert.rejects(all.stillUsed([], signal), /names no ARN/);
    now = 240_000;
    all.forget();
    assert.deepEqual([...(await all.stillUsed([], signal))], []);
    all.name("b", [unread]);
    all.name("b", [group("two", [])]);
    assert.deepEqual([...(await all.stillUsed([], signal))], []);
  });
});

describe("objects of clouds", () => {
  it("a ServiceNetworkEndpointGroup names a group in each zone, or says why nothing can be read", () => {
    const { read } = discoveredCloud("gcp", new CallBudget());
    const object = (
      all: readonly object[] | undefined,
      labels: Readonly<Record<string, string>> = { "networking.gke.io/service-name": "web" },
    ) =>
      read({
        metadata: { name: "neg", namespace: "shop", uid: "1", labels },
        status: { networkEndpointGroups: all },
      } as KubernetesObject);
    const link = (zone: string): string =>
      `https://www.googleapis.com/compute/v1/projects/p-1/zones/${zone}/networkEndpointGroups/k8s1-web`;
    const found = object([
      { selfLink: link("a") },
      { selfLink: link("b"), networkEndpointType: "GCE_VM_IP_PORT" },
    ]);
    assert.equal(found?.service, "shop/web");
    assert.deepEqual(
      found.groups.map(({ id, reader }) => [id, typeof reader]),
      [
        [link("a"), "function"],
        [link("b"), "function"],
      ],
    );
    assert.equal(object([{ selfLink: link("a"), networkEndpointType: "GCE_VM_IP" }]), undefined);
    assert.equal(object([{ selfLink: link("a") }], {}), undefined);
    for (const [all, problem] of [
      [undefined, /names no group/],
      [[{ selfLink: "https://x/projects/p/regions/r/networkEndpointGroups/g" }], /names no zone/],
      [[{}], /names no zone/],
    ] as const)
      assert.match(JSON.stringify(object(all)?.groups), problem);
  });

  it("--discover stands in place of --consumer, and has names of its own", () => {
    const args = (...more: string[]): string[] => [
      "--coordinator",
      "http://x:1",
      "--token-file",
      "/t",
      ...more,
    ];
    assert.deepEqual(parseWatcherFlags(args("--discover", "aws", "--discover", "gcp"))?.discover, [
      "aws",
      "gcp",
    ]);
    for (const more of [
      ["--discover", "azure"],
      ["--discover", "aws", "--consumer", "kube-proxy"],
      ["--discover", "aws", "--serves", "node"],
      ["--discover", "aws", "--name", "x"],
      [],
    ])
      assert.throws(() => parseWatcherFlags(args(...more)), /--/, more.join(" "));
  });
});
