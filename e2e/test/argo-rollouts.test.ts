import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  argoRolloutsImage,
  prepareArgoRollouts,
  whyNot,
  whyNotChosen,
  writeImage,
  type Cluster,
  type Manifest,
} from "../cluster/index.ts";
import { deployment, service, type ServerOptions } from "../cluster/workload.ts";
import { say } from "../program.ts";
import { resultsOf, RolloutProgram } from "./rollout-program.ts";
import { apply, podNames, quietCluster } from "./support.ts";

const skip = (await whyNot()) ?? (await whyNotChosen("argo-rollouts")) ?? false;
const namespace = "argo-rollouts";
const load = ["--rps", "50", "--warm-up", "1s", "--settle", "1s", "--timeout", "90s", "--yes"];

/** As its manual installs it, with our image of the same program. */
async function install(cluster: Cluster): Promise<void> {
  const { image, manifests } = await prepareArgoRollouts(say);
  await cluster.loadImage((file) => writeImage(image, file));
  const text = (await readFile(manifests, "utf8"))
    .replace(/quay\.io\/argoproj\/argo-rollouts:\S+/, argoRolloutsImage)
    .replace("imagePullPolicy: Always", "imagePullPolicy: IfNotPresent")
    // The user of its own image.
    .replace("runAsNonRoot: true", "{ runAsNonRoot: true, runAsUser: 999 }");
  await cluster.kubectl(["create", "namespace", namespace]);
  await cluster.kubectl(["apply", "-n", namespace, "--server-side", "-f", "-"], text);
  await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
  const controller = ["deployment/argo-rollouts", "-n", namespace, "--timeout=90s"];
  await cluster.kubectl(["rollout", "status", ...controller]);
}

function rollout(options: ServerOptions): Manifest {
  return { ...deployment(options), apiVersion: "argoproj.io/v1alpha1", kind: "Rollout" };
}

describe("lameduck rollout and the controller of Argo Rollouts", { skip }, () => {
  let cluster: Cluster;
  let folder: string;
  let lameduck: RolloutProgram;

  before(async () => {
    cluster = await quietCluster({ nodes: 2 });
    folder = await mkdtemp(join(tmpdir(), "lameduck-argo-"));
    lameduck = await RolloutProgram.on(cluster, folder);
    await install(cluster);
    const duck = { replicas: 3, environment: { SHUTDOWN: "lameduck" } };
    // Every pod is replaced before it waits.
    const steps = [{ setWeight: 100 }, { pause: {} }];
    const blueGreen = { activeService: "twin", autoPromotionEnabled: false, scaleDownDelaySeconds: 1 };
    await apply(
      cluster,
      rollout({ ...duck, name: "duck", strategy: { canary: {} } }),
      rollout({
        name: "plain",
        replicas: 2,
        environment: { SHUTDOWN: "close" },
        strategy: { canary: {} },
      }),
      rollout({ ...duck, name: "steps", strategy: { canary: { steps } } }),
      rollout({ ...duck, name: "twin", replicas: 2, strategy: { blueGreen } }),
      ...["duck", "plain", "steps", "twin"].map((name) => service(name)),
    );
    for (const name of ["duck", "plain", "steps", "twin"]) await healthy(name);
  });
  after(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const healthy = (name: string): Promise<string> =>
    cluster.kubectl(["wait", "--for=jsonpath={.status.phase}=Healthy", `rollouts/${name}`, "--timeout=90s"]);
  const patch = (name: string, change: object, ...more: readonly string[]): Promise<string> =>
    cluster.kubectl(["patch", `rollouts/${name}`, "--type=merge", "-p", JSON.stringify(change), ...more]);
  /** By somebody else, while it is watched. */
  const change = (name: string, to = "once"): Promise<string> =>
    patch(name, { spec: { template: { metadata: { annotations: { changed: to } } } } });
  const url = async (name: string): Promise<string[]> => [
    "--url",
    `service=${await lameduck.address(name)}`,
    ...load,
    "--json",
    join(folder, `${name}.json`),
  ];
  const resultOf = async (name: string) => {
    const { results, observed } = await resultsOf(join(folder, `${name}.json`));
    const [result] = results.remedies;
    assert.ok(result);
    return { ...result, outcome: observed.outcome.kind };
  };

  it("a Rollout is restarted: its controller replaces every pod, and nothing is lost", async () => {
    const names = await podNames(cluster, "duck");
    const { code, err, out } = await lameduck.run(["rollout/duck", "--restart", ...(await url("duck"))]);
    const { outcome, terminations, lost } = await resultOf("duck");
    assert.deepEqual([outcome, terminations, lost], ["finished", 3, 0], err + out);
    assert.equal(code, 0, err + out);
    assert.ok((await podNames(cluster, "duck")).every((name) => !names.includes(name)));
  });

  it("a template that somebody changes is followed to its end", async () => {
    const running = lameduck.start(["rollout/duck", "--watch", ...(await url("duck"))]);
    await running.said(/^watching/m);
    await change("duck");
    const { code, err, out } = await running.ended;
    const { outcome, terminations, lost } = await resultOf("duck");
    assert.deepEqual([outcome, terminations, lost], ["finished", 3, 0], err + out);
    assert.equal(code, 0, err + out);
  });

  it("a Rollout of pods that close at SIGTERM loses requests, and the report names the cause", async () => {
    const running = lameduck.start(["rollout/plain", "--restart", ...(await url("plain"))]);
    // A sender that certainly lags.
    await running.said(/^rolling/m);
    await cluster.pause("kube-proxy-1");
    await sleep(4_000);
    await cluster.resume("kube-proxy-1");
    const { code, err } = await running.ended;
    const { outcome, terminations, lost, lostByCause } = await resultOf("plain");
    assert.deepEqual([outcome, terminations, code], ["finished", 2, 1], err);
    const stale = (lostByCause.C1 ?? 0) + (lostByCause.C2 ?? 0);
    assert.ok(stale > lost / 2, JSON.stringify(lostByCause));
  });

  it("a Rollout that pauses at a step is not finished, with every pod new, before somebody promotes it", async () => {
    const running = lameduck.start(["rollout/steps", "--watch", ...(await url("steps"))]);
    await running.said(/^watching/m);
    await change("steps");
    await running.said(/^note: .*waits for a promotion/m);
    assert.equal(running.child.exitCode, null);
    await patch("steps", { status: { pauseConditions: null } }, "--subresource=status");
    const { code, err, out } = await running.ended;
    const { outcome, terminations, lost } = await resultOf("steps");
    assert.match(err, /^note: .*3 of 3 pods updated.*waits for a promotion/m);
    assert.deepEqual([outcome, terminations, lost, code], ["finished", 3, 0, 0], err + out);
  });

  it("a Rollout that was paused before is restarted without waiting for its promotion", async () => {
    await change("steps", "twice");
    await cluster.kubectl([
      "wait",
      "--for=jsonpath={.status.phase}=Paused",
      "rollouts/steps",
      "--timeout=90s",
    ]);
    const { code, err } = await lameduck.run(["rollout/steps", "--restart", ...(await url("steps"))]);
    const { outcome, terminations, lost } = await resultOf("steps");
    assert.deepEqual([outcome, terminations, lost, code], ["finished", 3, 0, 0], err);
    assert.match(err, /^note: it is paused \(CanaryPauseStep\): it waits for a promotion/m);
  });

  it("a blue-green Rollout that nobody promotes ends at the timeout with what it waits for", async () => {
    const running = lameduck.start(["rollout/twin", "--watch", ...(await url("twin")), "--timeout", "20s"]);
    await running.said(/^watching/m);
    await change("twin");
    const { code, err } = await running.ended;
    assert.equal(code, 4, err);
    // Its controller has given the Service's selector a label that the template has not.
    assert.match(err, /^target .*, Service twin$/m);
    assert.match(err, /did not finish: 2 of 2 pods updated, .*waits for a promotion/);
    const { code: next, err: notes } = await lameduck.run(["rollout/twin", "--restart", "--dry-run"]);
    assert.match(notes, /note: .*waits for a promotion/);
    assert.equal(next, 0, notes);
  });
});
