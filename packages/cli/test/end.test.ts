import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { KubernetesClient } from "@lameduck/kube";
import { connectionTo } from "../../kube/test/api-server.ts";
import { execServer, type OnExec } from "../../kube/test/exec-server.ts";
import { endHolds, type PodEnd } from "../src/end/end.ts";
import { run, type Ended } from "./running.ts";

const told = [
  { name: "LAMEDUCK_COORDINATOR", value: "http://lameduck-coordinator.lameduck-system.svc:8070" },
];
const line = (event: string): string =>
  `${JSON.stringify({ event, program: "init", pid: 1, hold_ms: 4_100 })}\n`;
const notFound: OnExec = (_path, _query, said) => said.notStarted("executable file not found in $PATH");

interface Cluster {
  readonly onExec?: OnExec;
  readonly env?: readonly object[];
  readonly command?: readonly string[];
  readonly isTerminating?: boolean;
  readonly names?: readonly string[];
  /** What an annotation brings about. */
  readonly onAnnotated?: (cluster: State) => void;
  readonly mayPatch?: boolean;
  /** Why its hold has ended, as it has reported. */
  readonly reason?: string;
  /** Undefined where nobody may list them. */
  readonly coordinators?: readonly object[] | undefined;
}

interface State {
  isGone: boolean;
  reason: string | undefined;
  readonly patches: unknown[];
  url: string;
}

/** An API server with one pod, and a coordinator behind its proxy. */
async function withCluster<T>(cluster: Cluster, work: (state: State) => Promise<T>): Promise<T> {
  const { onExec = notFound, env = [], command = [], isTerminating = true, names = ["app"] } = cluster;
  const { coordinators } = {
    coordinators: [{ metadata: { name: "c", uid: "c" }, status: { phase: "Running" } }],
    ...cluster,
  };
  const state: State = { isGone: false, reason: cluster.reason, patches: [], url: "" };
  const pod = (): object => ({
    metadata: {
      name: "web-1",
      uid: "uid-1",
      ...(isTerminating ? { deletionTimestamp: "2030-01-01T00:00:00Z" } : {}),
    },
    spec: { nodeName: "node7", containers: names.map((name) => ({ name, env, command })) },
    status: {
      containerStatuses: names.map((name) => ({
        name,
        containerID: `containerd://${"0123456789abcdef".repeat(4)}`,
        state: { running: {} },
      })),
    },
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const say = (status: number, body: object): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const path = request.url ?? "";
    if (path.startsWith("/api/v1/namespaces/lameduck-system/pods?"))
      return coordinators ? say(200, { items: coordinators }) : say(403, { reason: "Forbidden" });
    if (path.endsWith("/status")) return say(200, { version: 1 });
    if (path.endsWith("/terminating")) {
      const phase = state.reason === undefined ? "lame-duck" : "closing";
      return say(200, { version: 1, pods: [{ uid: "uid-1", phase, reason: state.reason }], more: 0 });
    }
    if (!path.endsWith("/namespaces/shop/pods/web-1") || state.isGone)
      return say(404, { reason: "NotFound" });
    if (request.method === "PATCH") {
      if (cluster.mayPatch === false) return say(403, { reason: "Forbidden", message: "no" });
      state.patches.push(JSON.parse(text));
      cluster.onAnnotated?.(state);
    }
    say(200, pod());
  };
  await using server = await execServer(onExec, (request, response) => void answer(request, response));
  state.url = server.url;
  return await work(state);
}

async function ended(cluster: Cluster): Promise<{ readonly end: PodEnd; readonly state: State }> {
  return withCluster(cluster, async (state) => {
    const client = new KubernetesClient(connectionTo(state.url));
    try {
      const pod = { namespace: "shop", name: "web-1" };
      const end = await endHolds(client, pod, () => undefined, AbortSignal.timeout(60_000));
      return { end, state };
    } finally {
      client.close();
    }
  });
}

const outcomes = ({ end }: { readonly end: PodEnd }): unknown[] =>
  end.containers.map(({ container, outcome, by }) => [container, outcome, by]);

test("a pod that asks a coordinator is annotated, and its word or its end is waited for", async () => {
  const never: OnExec = () => assert.fail("the coordinator has done it");
  for (const onAnnotated of [
    (state: State) => void (state.reason = "forced"),
    (state: State) => void (state.isGone = true),
  ]) {
    const found = await ended({ env: told, onExec: never, onAnnotated });
    assert.deepEqual(found.state.patches, [
      { metadata: { uid: "uid-1", annotations: { "lameduck.dev/end": "now" } } },
    ]);
    assert.deepEqual(outcomes(found), [["app", "ended", "coordinator"]]);
  }
});

test("what the coordinator does not end, or who may not ask it, is told by the binary in the container", async () => {
  const commands: string[][] = [];
  const onExec: OnExec = (_path, query, said) => {
    commands.push(query.getAll("command"));
    said.channel(2, `something else\n${line(query.get("container") === "app" ? "ended" : "not-ended")}`);
    said.exit(0);
  };
  const refused = await ended({ env: told, mayPatch: false, onExec, command: ["/opt/lameduck-init", "--"] });
  assert.deepEqual(outcomes(refused), [["app", "ended", "binary"]]);
  assert.deepEqual(commands, [["/opt/lameduck-init", "end", "--log", "json"]]);
  const [first] = refused.end.containers;
  assert.deepEqual(first?.holds, [{ event: "ended", program: "init", pid: 1, hold_ms: 4_100 }]);
  const silent = await ended({ env: told, onExec, names: ["app", "side"] });
  assert.deepEqual(outcomes(silent), [
    ["app", "ended", "binary"],
    ["side", "not-ended", "binary"],
  ]);
});

test("a hold that had ended by itself is not the coordinator's doing, nor is anything where none runs", async () => {
  const onExec: OnExec = (_path, _query, said) => {
    said.channel(2, '{"event":"nothing-held"}\n');
    said.exit(1);
  };
  const all = [{ reason: "quiet" }, { coordinators: [] }, { coordinators: undefined }];
  const found = await Promise.all(all.map((around) => ended({ env: told, onExec, ...around })));
  assert.deepEqual(
    found.map(({ end }) => end.containers.map(({ outcome, by, reason }) => [outcome, by, reason])),
    [
      [["nothing-held", "binary", "quiet"]],
      [["nothing-held", "binary", undefined]],
      [["nothing-held", "coordinator", undefined]],
    ],
  );
  const said = await command({ env: told, onExec, reason: "quiet" });
  assert.match(said.out, /^app: holds nothing: its hold had ended before \(quiet\)\nIt ends at 2030/);
  assert.equal(said.code, 1);
});

test("a pod that has just been deleted may hold a moment later", async () => {
  let asked = 0;
  const onExec: OnExec = (_path, _query, said) => {
    said.channel(2, ++asked < 3 ? '{"event":"nothing-held"}\n' : line("ended"));
    said.exit(0);
  };
  assert.deepEqual(outcomes(await ended({ onExec })), [["app", "ended", "binary"]]);
});

test("a command that is killed with its container counts by the state of the container", async () => {
  for (const [isGone, outcome] of [
    [true, "ended"],
    [false, "unknown"],
  ] as const) {
    let state: State | undefined;
    const found = await withCluster(
      {
        onExec: (_path, _query, said) => {
          if (state) state.isGone = isGone;
          said.cut();
        },
      },
      async (one) => {
        state = one;
        const client = new KubernetesClient(connectionTo(one.url));
        const pod = { namespace: "shop", name: "web-1" };
        const end = await endHolds(client, pod, () => undefined, AbortSignal.timeout(60_000));
        client.close();
        return end;
      },
    );
    assert.deepEqual(found.containers[0]?.outcome, outcome);
  }
});

const folder = mkdtempSync(join(tmpdir(), "lameduck-end-"));
after(() => rmSync(folder, { recursive: true }));
const shm = "/dev/shm";
/** Its own mount namespace, as a container has: whatever else holds on this machine must not be found. */
const isRoot = process.getuid?.() === 0;
const apart = isRoot ? ["-m"] : ["-rm"];
const into = isRoot ? ["-m"] : ["--preserve-credentials", "-U", "-m"];
const canBeApart = existsSync(shm) && spawnSync("unshare", [...apart, "nsenter", "--version"]).status === 0;
const noShell = canBeApart ? false : "needs /dev/shm, unshare and nsenter";

test("without the binary the shell of the container ends what holds there", { skip: noShell }, async () => {
  const holder = spawn("unshare", [...apart, "sleep", "60"]);
  const namespaceOf = (pid: number | "self" = "self"): number => statSync(`/proc/${pid}/ns/mnt`).ino;
  while (namespaceOf(holder.pid) === namespaceOf()) await sleep(20);
  const mounts = namespaceOf(holder.pid);
  const name = (kind: string): string => `${shm}/lameduck-${kind}-${mounts}-${holder.pid}`;
  try {
    const script: OnExec = (_path, query, said) => {
      const [program = "", ...args] = query.getAll("command");
      if (program !== "sh") return said.notStarted("not found");
      const entering = [...into, "-t", String(holder.pid), program, ...args];
      const child = spawn("nsenter", entering, { stdio: ["ignore", "ignore", "pipe"] });
      child.stderr.on("data", (bytes: Buffer) => said.channel(2, String(bytes)));
      child.on("close", (code) => said.exit(code ?? 1));
    };
    writeFileSync(name("holder"), `1 library ${holder.pid} 1 16384 25000 4711 0\n`);
    const ends = (async () => {
      while (!existsSync(name("end")) || readFileSync(name("end"), "utf8") !== "4711\n") await sleep(20);
      rmSync(name("holder"));
    })();
    const found = await ended({ onExec: script });
    await ends;
    assert.deepEqual(outcomes(found), [["app", "ended", "shell"]]);
    assert.deepEqual(found.end.containers[0]?.holds, [
      { event: "ended", program: "library", pid: holder.pid },
    ]);
  } finally {
    holder.kill();
    for (const kind of ["holder", "end"]) rmSync(name(kind), { force: true });
  }
});

async function command(cluster: Cluster, ...args: readonly string[]): Promise<Ended> {
  return withCluster(cluster, ({ url }) => {
    const env = { ...process.env, KUBECONFIG: kubeconfigFor(url) };
    return run(["end", "web-1", "-n", "shop", ...args], { env });
  });
}

/** JSON is YAML. */
function kubeconfigFor(server: string): string {
  const path = join(folder, "kubeconfig");
  const entries = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: { token: "t" } }],
  };
  writeFileSync(path, JSON.stringify(entries));
  return path;
}

test("the command says what has become of each container, and what is left where nobody can be told", async () => {
  const done = await command({
    onExec: (_path, _query, said) => {
      said.channel(2, line("ended"));
      said.exit(0);
    },
  });
  assert.deepEqual([done.out, done.code], ["app: ended: init, PID 1, after 4.1 s\n", 0]);

  const none = await command({});
  assert.equal(none.code, 1);
  assert.match(none.out, /^app: not known: neither lameduck-init nor a shell is in it\n/);
  assert.match(none.out, /2030-01-01T00:00:00Z at the latest/);
  assert.match(
    none.out,
    /kubectl delete pod web-1 -n shop --grace-period=0 --force removes its object at once/,
  );
  assert.match(none.out, /On node node7, crictl stop --timeout 0 0123456789abc ends them/);

  const nothing: OnExec = (_path, _query, said) => {
    said.channel(2, '{"event":"nothing-held"}\n');
    said.exit(1);
  };
  const json = await command({ onExec: nothing }, "--json", "-");
  const { version, node, containers } = JSON.parse(json.out) as PodEnd & { version: number };
  assert.deepEqual([json.code, version, node, containers[0]?.outcome], [1, 1, "node7", "nothing-held"]);
  assert.match(json.err, /^asking container app\n/);

  const alive = await command({ isTerminating: false });
  assert.equal(alive.code, 2);
  assert.match(alive.err, /^error pod\/web-1: it is not being deleted.*\[LAMEDUCK_NOT_TERMINATING\]/);
});
