/**
 * Measures what unmodified software loses on pooled connections, for each kind of pool. It measures without acknowledgements, then with:
 *
 *     npm run pooled -w e2e -- --software nginx,haproxy,gunicorn,jvm --ways hook,init --keep FILE
 *
 * Each pod gets requests from all kinds of clients at once. Three Deployments are rolled at a time. With acknowledgements all of them took 35
 * minutes on two busy processors. It brings a cluster up and takes it down again. --attach uses that of `npm run cluster:up`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { heldAgainstPods, type Quantiles } from "@lameduck/accounting";
import { commandLine } from "../../scripts/command-line.ts";
import { markdownTable } from "../../scripts/format-page.ts";
import { initPath, requireInit, requireSoftware, until, type Cluster } from "../cluster/index.ts";
import { configuration, software, started } from "../injected/software.ts";
import { clientKinds, type ClientKind } from "../matrix/load/plan.ts";
import { graceSeconds } from "../matrix/remedies.ts";
import { runScenario, type RunResult } from "../matrix/run.ts";
import { quiet, type Scenario, type Stage } from "../matrix/scenarios.ts";
import { listed, named, onCluster, positive, runMain, say } from "../program.ts";
import { apply } from "../test/support.ts";
import { beyondOracle, reasonsOf } from "./figures.ts";
import { coordinatorUrl, inject, install, requirePolicy } from "./installation.ts";
import { remedyOf, type Way } from "./ways.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    // nginx-set, haproxy-set, gunicorn-set, jvm-set: set so that clients leave before the stop
    software: { type: "string", default: "nginx,haproxy,gunicorn,jvm" },
    // hook: injected by the webhook; init: lameduck-init as PID 1
    ways: { type: "string", default: "hook,init" },
    knows: { type: "string", default: "alone,acknowledged" },
    clients: { type: "string", default: clientKinds.join(",") },
    // shrinking: scaled down in two steps, so that no pod starts while another stops
    scenario: { type: "string", default: "rollout" },
    times: { type: "string", default: "5" },
    replicas: { type: "string", default: "20" },
    // a rollout's; Kubernetes' own default is 25% of both
    surge: { type: "string", default: "50%" },
    unavailable: { type: "string", default: "50%" },
    // requests a second to each Deployment, of all clients together
    rate: { type: "string", default: "150" },
    // share of them on kept connections
    pooled: { type: "string", default: "0.75" },
    // Deployments that are rolled at a time
    "at-once": { type: "string", default: "3" },
    "proxy-lag": { type: "string", default: "1s,1s,2s,5s,10s" },
    attach: { type: "boolean", default: false },
    // a file of results, to which these are added
    keep: { type: "string" },
  },
});

const wantedOf = () => ({
  software: listed("--software", values.software, Object.keys(started)),
  ways: listed("--ways", values.ways, ["hook", "init"]),
  knows: listed("--knows", values.knows, ["alone", "acknowledged"]),
  clients: listed("--clients", values.clients, clientKinds),
  scenario: named("--scenario", values.scenario, [rollout, shrinking])[0] ?? rollout,
  times: positive("--times", values.times),
  replicas: positive("--replicas", values.replicas),
  rate: positive("--rate", values.rate),
  pooledShare: positive("--pooled", values.pooled),
  atOnce: positive("--at-once", values["at-once"]),
});

type Wanted = ReturnType<typeof wantedOf>;

interface Cell {
  readonly software: string;
  readonly way: string;
  readonly acknowledged: boolean;
}

interface Losses {
  readonly sentNew: number;
  readonly sentPooled: number;
  readonly lostNew: number;
  readonly lostPooled: number;
  /** Answered after the client had sent them again. */
  readonly resent: number;
}

interface Row extends Cell {
  readonly recordedAt: string;
  readonly terminations: number;
  readonly killed: number;
  readonly hold: Quantiles;
  readonly oracle: Quantiles;
  readonly beyondOracle: Quantiles;
  readonly reasons: Readonly<Record<string, number>>;
  readonly clients: Readonly<Partial<Record<ClientKind, Losses>>>;
  /** One sentence for each lost request. */
  readonly sentences: readonly string[];
}

/** Pods whose command is lameduck-init are left alone by the webhook. */
function wayOf({ software: name, way }: Cell): Way {
  const plain = software[name];
  const program = started[name];
  if (plain === undefined || program === undefined) throw new Error(`no software ${name}`);
  const { description } = plain;
  // Old pods count until their objects are gone: with more, new ones find no node.
  const pod = { ...plain.pod, cpuRequest: "20m" };
  if (way === "hook") return { name, description, isInjected: true, pod };
  // Debian's nginx has the STOPSIGNAL of the official image here; the others have none.
  const flags =
    program.signal === "QUIT" ? ["--stop-signal", "QUIT"] : ["--signal", `TERM=${program.signal}`];
  const command = [initPath, "--log", "json", ...flags, "--", ...program.by];
  const environment = { LAMEDUCK_GRACE_PERIOD: `${graceSeconds}s` };
  return { name, description, isInjected: false, pod: { ...pod, command, environment } };
}

/** Waits for the last container of the old pods, not for their objects: a busy kubelet removes these half a minute later. */
async function replaced({ pods, app, replicas }: Stage, before: readonly string[]): Promise<void> {
  const isOver = (): boolean => {
    const ended = new Set(pods.timeline.filter(({ type }) => type === "exited").map(({ pod }) => pod));
    return pods.available === replicas && before.every((pod) => ended.has(pod));
  };
  await until(() => Promise.resolve(isOver()), {
    what: `the old pods of ${app} to end`,
    timeoutMs: 400_000,
  });
}

const rollout: Scenario = {
  name: "rollout",
  description: "kubectl rollout restart",
  run: async (stage) => {
    const before = [...stage.pods.nodes.keys()];
    await stage.cluster.kubectl(["rollout", "restart", `deployment/${stage.app}`]);
    await replaced(stage, before);
  },
};

/** Pods that start use the processors. A server that stops beside them needs longer to close, and loses more of its pooled requests. */
const shrinking: Scenario = {
  name: "shrinking",
  description: "scaled down by a third, and by another third; then back",
  run: async (stage) => {
    const { cluster, pods, app, replicas } = stage;
    const scale = (to: number): Promise<string> =>
      cluster.kubectl(["scale", `deployment/${app}`, `--replicas=${to}`]);
    for (const left of [2 / 3, 1 / 3]) {
      const fewer = Math.ceil(replicas * left);
      await scale(fewer);
      await quiet({ pods, replicas: fewer });
    }
    await scale(replicas);
    await quiet(stage);
  },
};

async function one(cluster: Cluster, wanted: Wanted, cell: Cell): Promise<Row> {
  const { replicas, rate, times, pooledShare, clients, scenario } = wanted;
  const measured = await runScenario(cluster, {
    app: `${cell.software}-${cell.way}`,
    remedy: remedyOf(wayOf(cell), cell.acknowledged ? coordinatorUrl : undefined),
    scenario,
    route: "cluster-ip",
    countsAllSenders: cell.acknowledged,
    clientKinds: clients,
    times,
    replicas,
    requestsPerSecond: rate,
    pooledShare,
    // Most pods are older: they have served since the rollout before.
    warmUpMs: 6_000,
    rolling: { surge: values.surge, unavailable: values.unavailable },
    say,
  });
  const { terminations, killed, hold, oracle, lostRequests } = measured.result;
  return {
    ...cell,
    recordedAt: new Date().toISOString(),
    terminations,
    killed,
    hold,
    oracle,
    beyondOracle: beyondOracle(measured.result),
    reasons: reasonsOf(measured.result),
    clients: Object.fromEntries(clients.map((kind) => [kind, lossesOf(measured, kind)])),
    sentences: lostRequests.map(({ mode, cause, sentence }) => `${mode}, ${cause}: ${sentence}`),
  };
}

function lossesOf({ result, recording }: RunResult, kind: ClientKind): Losses {
  const own = recording.records.filter(
    ({ client, intended }) => client === kind && intended >= recording.countedFrom,
  );
  const ids = new Set(own.map(({ id }) => id));
  const lostRequests = result.lostRequests.filter(({ id }) => ids.has(id));
  const { lostNew, lostPooled } = heldAgainstPods({ ...result, lostRequests });
  const sentNew = own.filter(({ mode }) => mode === "new").length;
  const resent = own.filter(({ outcome, retries = 0 }) => outcome === "ok" && retries > 0).length;
  return { sentNew, sentPooled: own.length - sentNew, lostNew, lostPooled, resent };
}

async function measure(cluster: Cluster, wanted: Wanted): Promise<Row[]> {
  const rows: Row[] = values.keep === undefined ? [] : await kept(values.keep);
  await apply(cluster, configuration);
  for (const acknowledged of wanted.knows.map((one) => one === "acknowledged")) {
    await install(cluster, acknowledged);
    await requirePolicy(cluster, { policy: "adaptive" });
    await inject(cluster, true);
    const cells = wanted.software.flatMap((name) =>
      wanted.ways.map((way) => ({ software: name, way, acknowledged })),
    );
    const worker = async (): Promise<void> => {
      for (let cell = cells.shift(); cell !== undefined; cell = cells.shift())
        try {
          rows.push(await one(cluster, wanted, cell));
          if (values.keep !== undefined)
            await writeFile(values.keep, `${JSON.stringify(rows, undefined, 1)}\n`);
          say(tableOf(rows.slice(-1)));
        } catch (error) {
          // A long measurement goes on; what failed is no row.
          say(`${cell.software} ${cell.way}: ${String(error)}`);
          process.exitCode = 3;
        }
    };
    await Promise.all(Array.from({ length: wanted.atOnce }, worker));
  }
  return rows;
}

const kept = async (file: string): Promise<Row[]> =>
  JSON.parse(await readFile(file, "utf8").catch(() => "[]")) as Row[];

const head = [
  "software",
  "way",
  "acknowledgements",
  "terminations",
  "hold p50 / p90 / max",
  "hold - oracle p50",
  "killed",
];

/** In Markdown; of each kind of client what was lost, new and pooled, and what it had sent again. */
function tableOf(rows: readonly Row[]): string {
  const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);
  const lines = rows.map(
    ({ software: name, way, acknowledged, terminations, hold, killed, clients, ...row }) => [
      name,
      way,
      acknowledged ? "yes" : "no",
      String(terminations),
      `${[hold.p50, hold.p90, hold.max].map(seconds).join(" / ")} s`,
      `${seconds(row.beyondOracle.p50)} s`,
      String(killed),
      ...clientKinds.map((kind) => {
        const { lostNew = 0, lostPooled = 0, resent = 0 } = clients[kind] ?? {};
        return `${lostNew} new, ${lostPooled} pooled${resent === 0 ? "" : `, ${resent} sent again`}`;
      }),
    ],
  );
  return markdownTable([...head, ...clientKinds], lines);
}

await runMain(async () => {
  const wanted = wantedOf();
  await requireInit(["x64", "arm64"]);
  await requireSoftware(wanted.software);
  const proxyLag = values["proxy-lag"].split(",");
  const rows = await onCluster(values.attach, { nodes: proxyLag.length, proxyLag }, (cluster) =>
    measure(cluster, wanted),
  );
  process.stdout.write(tableOf(rows));
});
