import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Cluster, type Manifest, until, whyNot } from "../cluster/index.ts";
import { nodeImage } from "../cluster/images/catalogue.ts";
import { deployment } from "../cluster/workload.ts";
import { program, type Ended, type KubeConfig } from "./rollout-program.ts";
import { apply, quietCluster } from "./support.ts";

const reason = await whyNot();

/** Longer than the tests take, so that a pod is found in its situation. Seconds. */
const grace = 240;
const forever = "setInterval(() => {}, 1000);";
const ignores = `process.on("SIGTERM", () => {}); ${forever}`;
const port = 8080;
/** Ready when its handler is there: the first process of a container is not ended by a signal that it does not listen to. */
const ends = `process.on("SIGTERM", () => process.exit(0)); require("node:net").createServer().listen(${port});`;
const handles = { readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } };
const node = (source: string): object => ({
  image: nodeImage,
  command: ["/usr/local/bin/node", "-e", source],
});

interface PodOptions {
  readonly container?: object;
  readonly spec?: object;
  readonly metadata?: object;
  readonly labels?: Readonly<Record<string, string>>;
}

function pod(
  name: string,
  { container = node(ends), spec, metadata, labels = {} }: PodOptions = {},
): Manifest {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { situation: name, ...labels }, ...metadata },
    spec: {
      terminationGracePeriodSeconds: grace,
      containers: [{ name: "app", ...container }],
      ...spec,
    },
  };
}

function budget(name: string, situation: string): Manifest {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: { minAvailable: 1, selector: { matchLabels: { situation } } },
  };
}

const hook = (preStop: object): object => ({ ...node(ends), lifecycle: { preStop } });
const lastWord = `console.log(JSON.stringify({ lameduck: "phase", phase: "lame-duck", at: Date.now() })); ${ignores}`;

/** Pods, what is done to them, and the first line of the answer. */
const deleted: readonly (readonly [Manifest, RegExp])[] = [
  [
    pod("hook-hangs", { container: hook({ exec: { command: ["/usr/local/bin/node", "-e", forever] } }) }),
    /the preStop hook of app \(\/usr\/local\/bin\/node/,
  ],
  [
    pod("hook-sleeps", { container: hook({ sleep: { seconds: grace - 10 } }) }),
    /the preStop hook of app sleeps: \d+ (s|min) more/,
  ],
  [pod("ignores-term", { container: node(ignores) }), /the program of app has been told to stop and runs on/],
  [pod("holds", { container: node(lastWord) }), /Lameduck holds it, for \d+ s/],
  [
    pod("finalizer", {
      metadata: { finalizers: ["example.com/backup"] },
      spec: { terminationGracePeriodSeconds: 1 },
    }),
    /waits for finalizers: example\.com\/backup/,
  ],
  [
    pod("sidecar", {
      container: { ...node(ends), ...handles },
      spec: { initContainers: [{ name: "proxy", restartPolicy: "Always", ...node(ignores) }] },
    }),
    /the program of app, proxy has been told to stop and runs on, .*; one of them may have ended, which the API does not show/,
  ],
];

const kept: readonly (readonly [string, readonly Manifest[], RegExp])[] = [
  [
    "image-gone",
    [pod("image-gone", { container: { image: "lameduck.test/nowhere:1", imagePullPolicy: "Never" } })],
    /nobody has deleted it/,
  ],
  [
    "budget",
    [pod("budget"), budget("budget", "budget")],
    /an eviction of it is refused by PodDisruptionBudget budget: 1 healthy, 1 wanted/,
  ],
  [
    "two-budgets",
    [pod("two-budgets"), budget("two-a", "two-budgets"), budget("two-b", "two-budgets")],
    /2 PodDisruptionBudgets select it/,
  ],
  [
    "completed",
    [pod("completed", { container: node(""), spec: { restartPolicy: "Never" } })],
    /it has ended \(Succeeded\)/,
  ],
];

describe("lameduck why", { skip: reason ?? false }, () => {
  let cluster: Cluster;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lameduck-why-"));
    cluster = await quietCluster({ nodes: 3 });
    await apply(
      cluster,
      ...deleted.map(([object]) => object),
      ...kept.flatMap(([, objects]) => objects),
      old(),
    );
    for (const [{ metadata }] of deleted) await ready(metadata.name);
    await cluster.kubectl(["rollout", "status", "deployment/old", "--timeout=60s"]);
    for (const [{ metadata }] of deleted)
      await cluster.kubectl(["delete", "pod", metadata.name, "--wait=false"]);
  });
  after(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const ready = (name: string): Promise<string> =>
    cluster.kubectl(["wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s"]);

  function why(name: string, ...more: readonly string[]): Promise<Ended> {
    const args = [program, "why", name, "-n", "default", "--kubeconfig", cluster.kubeconfig, ...more];
    return new Promise((resolve) =>
      execFile(process.execPath, args, (error, out, err) =>
        resolve({ code: error ? Number(error.code) : 0, out, err }),
      ),
    );
  }

  /** A status takes a moment to reach the API server. */
  async function says(name: string, words: RegExp): Promise<Ended> {
    let last: Ended | undefined;
    await until(
      async () => {
        last = await why(name);
        return words.test(last.out.split("\n")[0] ?? "");
      },
      { what: `${words} of ${name}`, timeoutMs: 60_000 },
    ).catch((error: unknown) => assert.fail(`${String(error)}: ${last?.out}${last?.err}`));
    assert.ok(last);
    return last;
  }

  for (const [{ metadata }, words] of deleted)
    it(`names what a deleted pod waits for: ${metadata.name}`, async () =>
      void (await says(metadata.name, words)));

  for (const [name, , words] of kept)
    it(`names what keeps a pod that nobody has deleted: ${name}`, async () => void (await says(name, words)));

  it("names a rollout that waits for new pods, and one that is paused", async () => {
    const name = await cluster.field(["pods", "-l", "app=old"], "{.items[0].metadata.name}");
    await cluster.kubectl(["set", "image", "deployment/old", "server=lameduck.test/nowhere:1"]);
    await says(name, /older template of deployment\/old, whose rollout is not done: 1 of 1 pod new/);
    await cluster.kubectl(["rollout", "pause", "deployment/old"]);
    await says(name, /its rollout is paused/);
  });

  it("says until when, what ends it sooner and what that costs, and all of it as JSON", async () => {
    const { out, code } = await why("ignores-term");
    assert.equal(code, 0, out);
    assert.match(out, /^ {2}at most: \d+ (s|min) more, until \d\d:\d\d:\d\d UTC$/m);
    assert.match(out, /^ {2}sooner: kubectl delete pod ignores-term -n default --grace-period=0 --force$/m);
    const { reasons } = JSON.parse((await why("finalizer", "--json", "-")).out) as {
      reasons: { cause: string }[];
    };
    assert.deepEqual(
      reasons.map(({ cause }) => cause),
      ["finalizer"],
    );
  });

  it("says what the account may not read, with the right to get pods alone", async () => {
    await cluster.kubectl(["create", "serviceaccount", "poor"]);
    await cluster.kubectl(["create", "role", "poor", "--verb=get", "--resource=pods"]);
    await cluster.kubectl(["create", "rolebinding", "poor", "--role=poor", "--serviceaccount=default:poor"]);
    const token = (await cluster.kubectl(["create", "token", "poor"])).trim();
    const config = JSON.parse(await readFile(cluster.kubeconfig, "utf8")) as KubeConfig;
    const path = join(folder, "poor");
    const users = [{ name: config.users[0].name, user: { token } }];
    await writeFile(path, JSON.stringify({ ...config, users }));
    const { out, code } = await why("ignores-term", "--kubeconfig", path);
    assert.equal(code, 5, out);
    assert.match(out, /^ignores-term: the program of app/);
    for (const what of ["events", "node node\\d", "the log of app"])
      assert.match(out, new RegExp(`^not known: ${what}: not permitted$`, "m"));
  });

  it("names a node that is gone", async () => {
    const where = await cluster.field(["pod", "ignores-term"], "{.spec.nodeName}");
    await cluster.kubectl(["delete", "node", where]);
    await says("ignores-term", new RegExp(`its node ${where} is no object of the cluster any more`));
  });
});

/** Its new pods will have an image that is not there. */
const old = (): Manifest =>
  deployment({ name: "old", replicas: 1, strategy: { rollingUpdate: { maxUnavailable: 0 } } });
