import { Random } from "../kernel/random.ts";
import { Simulation } from "../kernel/simulation.ts";
import { draw, type Distribution } from "@lameduck/load/propagation";
import { EndpointSliceController } from "./endpoints.ts";
import { applyInOrder, startForwarder, type Forwarder } from "./forwarder.ts";
import { sendersOf, type Scenario } from "./scenario.ts";

/** What happened to endpoints: for each termination when it began and when each sender let go. Plain data: workers are sent it. */
export interface World {
  /** Deletion, on the rollout's clock. */
  readonly deletedAt: Float64Array;
  /** By termination: when its withdrawal was published, since the deletion. */
  readonly withdrawn: Float64Array;
  /** By termination: each sender's convergence time since the deletion. */
  readonly convergence: readonly Float32Array[];
  /** By termination: how many times its usual part of each sender's traffic the pod got from its deletion until that one let go. */
  readonly load: readonly Float32Array[];
  readonly rollouts: readonly { readonly pods: number }[];
  readonly conflicts: number;
}

/** A new pod's readiness precedes the old pod's deletion by a moment: rate limits are armed when the withdrawal comes. */
const replacedBeforeMs = 20;

/** Plays the rollouts of a scenario until it has had all its terminations. */
export function simulateWorld(scenario: Scenario, seed: number): World {
  const senders = sendersOf(scenario);
  const deletedAt = new Float64Array(scenario.terminations);
  const withdrawn = new Float64Array(scenario.terminations);
  const convergence: Float32Array[] = [];
  const load: Float32Array[] = [];
  const rollouts: { pods: number }[] = [];
  let conflicts = 0;
  const perRollout = scenario.rollout.kind === "isolated" ? 1 : scenario.replicas;
  for (let done = 0; done < scenario.terminations; done += perRollout) {
    const pods = Math.min(perRollout, scenario.terminations - done);
    const played = playRollout(scenario, new Random(seed, "rollout", done), pods);
    for (let pod = 0; pod < pods; pod++) {
      deletedAt[done + pod] = played.deletedAt[pod]!;
      convergence.push(new Float32Array(senders));
      load.push(new Float32Array(senders).fill(1));
    }
    for (const publication of played.publications)
      for (const pod of publication.withdrawn)
        withdrawn[done + pod] = publication.at - played.deletedAt[pod]!;
    let index = 0;
    for (const group of scenario.senders)
      for (let member = 0; member < group.count; member++, index++) {
        const random = new Random(seed, "sender", done, index);
        const applied = applyAll(group.forwarder, random, played.publications);
        for (const [change, publication] of played.publications.entries())
          for (const pod of publication.withdrawn)
            convergence[done + pod]![index] = Math.max(0, applied[change]! - played.deletedAt[pod]!);
        if (scenario.traffic.spread === "known" && scenario.rollout.kind === "deployment")
          for (const [pod, times] of [...loads(scenario.replicas, played, applied)].entries())
            load[done + pod]![index] = times;
      }
    rollouts.push({ pods });
    conflicts += played.conflicts;
  }
  return { deletedAt, withdrawn, convergence, load, rollouts, conflicts };
}

/** Events for the controller: a pod's number is its withdrawal. */
const becameReady = -1;
/** With an address, and not yet ready. */
const wasListed = -2;

interface Publication {
  readonly at: number;
  readonly withdrawn: readonly number[];
  readonly joined: number;
}

interface PlayedRollout {
  readonly deletedAt: number[];
  readonly publications: readonly Publication[];
  readonly conflicts: number;
}

/** @returns when a sender applies each publication. */
function applyAll(
  forwarder: Forwarder,
  random: Random,
  publications: readonly Publication[],
): readonly number[] {
  const publishedAt = publications.map(({ at }) => at);
  if (forwarder.kind === "ordered") return applyInOrder(forwarder, publishedAt, random);
  const state = startForwarder(forwarder, random);
  return publishedAt.map((at) => state.learn(at));
}

/** A sender spreads its traffic over the pods that it knows: the fewer are ready, the more comes to those that it has not let go of. */
function* loads(
  replicas: number,
  { publications, deletedAt }: PlayedRollout,
  applied: readonly number[],
): Generator<number> {
  const changes = publications
    .map(({ joined, withdrawn }, index) => ({
      at: applied[index]!,
      by: joined - withdrawn.length,
      withdrawn,
    }))
    .sort((a, b) => a.at - b.at);
  const letGoAt = new Map(changes.flatMap(({ at, withdrawn }) => withdrawn.map((pod) => [pod, at])));
  for (const [pod, from] of deletedAt.entries()) {
    const to = letGoAt.get(pod) ?? from;
    let known = replicas;
    let since = from;
    let times = 0;
    for (const { at, by } of changes) {
      if (at >= to) break;
      if (at > since) {
        times += ((at - since) * replicas) / Math.max(1, known);
        since = at;
      }
      known += by;
    }
    yield to > from ? (times + ((to - since) * replicas) / Math.max(1, known)) / (to - from) : 1;
  }
}

function playRollout(scenario: Scenario, random: Random, pods: number): PlayedRollout {
  const simulation = new Simulation();
  const publications: Publication[] = [];
  const deletedAt = Array.from({ length: pods }, () => Infinity);
  const controller = new EndpointSliceController(simulation, random, scenario.endpoints, (changes, at) =>
    publications.push({
      at,
      withdrawn: changes.filter((pod) => pod >= 0),
      joined: changes.filter((pod) => pod === becameReady).length,
    }),
  );
  const remove = (pod: number): void => {
    deletedAt[pod] = simulation.now;
    controller.change(pod);
  };
  const { rollout } = scenario;
  switch (rollout.kind) {
    case "isolated":
      controller.change(becameReady);
      simulation.at(replacedBeforeMs + random.uniform() * 80, remove, 0);
      break;
    case "deployment":
      playDeployment(simulation, random, rollout, scenario, pods, controller, remove);
      break;
    case "in-place":
      playInPlace(simulation, random, rollout, scenario, pods, controller, remove);
      break;
  }
  simulation.run();
  return { deletedAt, publications, conflicts: controller.conflicts };
}

/**
 * The Deployment controller: creates new pods while there are fewer than replicas + surge, deletes old ones while more than replicas -
 * unavailable are available. Terminating pods count towards neither, so the hold does not slow a rollout that finds room.
 */
function playDeployment(
  simulation: Simulation,
  random: Random,
  rollout: {
    maxSurge: number;
    maxUnavailable: number;
    ready: Distribution;
    listedBefore: Distribution;
  },
  scenario: Scenario,
  pods: number,
  controller: EndpointSliceController,
  remove: (pod: number) => void,
): void {
  const { replicas } = scenario;
  let created = 0;
  let ready = 0;
  let deleted = 0;
  const reconcile = (): void => {
    while (created < replicas && created + (replicas - deleted) < replicas + rollout.maxSurge) {
      created++;
      const ready = draw(rollout.ready, random);
      // Listing wakes the proxies before readiness does: the period that a withdrawal waits for has begun by then.
      const listed = draw(rollout.listedBefore, random);
      if (listed > 0) simulation.after(Math.max(0, ready - listed), () => controller.change(wasListed));
      simulation.after(ready, becomeReady);
    }
    while (deleted < pods && ready + (replicas - deleted) > replicas - rollout.maxUnavailable)
      remove(deleted++);
  };
  // The Deployment controller sees a pod's readiness some 10 to 50 ms later; the deletions that follow let it create more at once.
  const becomeReady = (): void => {
    ready++;
    controller.change(becameReady);
    simulation.after(10 + 40 * random.uniform(), () => {
      reconcile();
      reconcile();
    });
  };
  simulation.at(0, () => {
    reconcile();
    reconcile();
  });
}

/** Each pod is gone before its successor starts, so the next deletion of its slot waits for hold and readiness. */
function playInPlace(
  simulation: Simulation,
  random: Random,
  { slots, ready }: { slots: number; ready: Distribution },
  scenario: Scenario,
  pods: number,
  controller: EndpointSliceController,
  remove: (pod: number) => void,
): void {
  // Deletions are as far apart as the longest hold: policies then differ only in the computed times, and not in what they see.
  const apart = scenario.pod.grace;
  const freeAt = Array.from({ length: slots }, () => 0);
  for (let pod = 0; pod < pods; pod++) {
    const slot = pod % slots;
    simulation.at(freeAt[slot]!, remove, pod);
    freeAt[slot]! += apart + draw(ready, random);
    simulation.at(freeAt[slot]!, () => controller.change(becameReady));
  }
}
