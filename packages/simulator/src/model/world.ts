import { Random } from "../kernel/random.ts";
import { Simulation } from "../kernel/simulation.ts";
import { draw, type Distribution } from "./distribution.ts";
import { EndpointSliceController } from "./endpoints.ts";
import { applyInOrder, startForwarder, type Forwarder } from "./forwarder.ts";
import { sendersOf, type Scenario } from "./scenario.ts";

/** What happened to endpoints: for each termination when it began and when each sender let go. */
export interface World {
  /** Deletion, on the rollout's clock. */
  readonly deletedAt: Float64Array;
  /** Convergence times since each deletion. */
  convergence(termination: number): Float64Array;
  /** Each rollout's begin, and the time at which its last pod was deleted. */
  readonly rollouts: readonly { readonly pods: number; readonly lastDeletion: number }[];
  readonly conflicts: number;
  readonly events: number;
}

/** A new pod's readiness precedes the old pod's deletion by a moment: rate limits are armed when the withdrawal comes. */
const replacedBefore = 20;

/** Plays the rollouts of a scenario until it has had all its terminations. */
export function simulateWorld(scenario: Scenario, seed: number): World {
  const senders = sendersOf(scenario);
  const deletedAt = new Float64Array(scenario.terminations);
  const convergence: Float32Array[] = [];
  const rollouts: { pods: number; lastDeletion: number }[] = [];
  let conflicts = 0;
  let events = 0;
  const perRollout = scenario.rollout.kind === "isolated" ? 1 : scenario.replicas;
  for (let done = 0; done < scenario.terminations; done += perRollout) {
    const pods = Math.min(perRollout, scenario.terminations - done);
    const played = playRollout(scenario, new Random(seed, "rollout", done), pods);
    for (let pod = 0; pod < pods; pod++) {
      deletedAt[done + pod] = played.deletedAt[pod]!;
      convergence.push(new Float32Array(senders));
    }
    let index = 0;
    for (const group of scenario.senders)
      for (let member = 0; member < group.count; member++, index++) {
        learnAll(
          group.forwarder,
          new Random(seed, "sender", done, index),
          played.publications,
          (pod, appliedAt) => {
            convergence[done + pod]![index] = Math.max(0, appliedAt - played.deletedAt[pod]!);
          },
        );
      }
    rollouts.push({ pods, lastDeletion: Math.max(...played.deletedAt) });
    conflicts += played.conflicts;
    events += played.events + played.publications.length * senders;
  }
  return {
    deletedAt,
    convergence: (termination) => Float64Array.from(convergence[termination]!),
    rollouts,
    conflicts,
    events,
  };
}

/** Changes as published: a pod's number is its withdrawal, -1 anything else. */
interface Publication {
  readonly at: number;
  readonly withdrawn: readonly number[];
}

interface PlayedRollout {
  readonly deletedAt: number[];
  readonly publications: readonly Publication[];
  readonly conflicts: number;
  readonly events: number;
}

function learnAll(
  forwarder: Forwarder,
  random: Random,
  publications: readonly Publication[],
  applied: (pod: number, at: number) => void,
): void {
  if (forwarder.kind === "ordered") {
    const told = publications.map(({ at }) => at);
    for (const [index, at] of applyInOrder(forwarder, told, random).entries())
      for (const pod of publications[index]!.withdrawn) applied(pod, at);
    return;
  }
  const state = startForwarder(forwarder, random);
  for (const { at, withdrawn } of publications) {
    const appliedAt = state.learn(at);
    for (const pod of withdrawn) applied(pod, appliedAt);
  }
}

function playRollout(scenario: Scenario, random: Random, pods: number): PlayedRollout {
  const simulation = new Simulation();
  const publications: Publication[] = [];
  const deletedAt = Array.from({ length: pods }, () => Infinity);
  const controller = new EndpointSliceController(simulation, random, scenario.endpoints, (changes, at) =>
    publications.push({ at, withdrawn: changes.filter((pod) => pod >= 0) }),
  );
  const remove = (pod: number): void => {
    deletedAt[pod] = simulation.now;
    controller.change(pod);
  };
  const { rollout } = scenario;
  switch (rollout.kind) {
    case "isolated":
      controller.change(-1);
      simulation.at(replacedBefore + random.uniform() * 80, remove, 0);
      break;
    case "deployment":
      playDeployment(simulation, random, rollout, scenario, pods, controller, remove);
      break;
    case "stateful-set":
      playStatefulSet(simulation, random, rollout.ready, scenario, pods, controller, remove);
      break;
  }
  simulation.run();
  return { deletedAt, publications, conflicts: controller.conflicts, events: simulation.processed };
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
      if (listed > 0) simulation.after(Math.max(0, ready - listed), () => controller.change(-1));
      simulation.after(ready, becomeReady);
    }
    while (deleted < pods && ready + (replicas - deleted) > replicas - rollout.maxUnavailable)
      remove(deleted++);
  };
  // The Deployment controller sees a pod's readiness some 10 to 50 ms later; the deletions that follow let it create more at once.
  const becomeReady = (): void => {
    ready++;
    controller.change(-1);
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

/** One pod after the other: each is gone before its successor starts, so the next deletion waits for hold and readiness. */
function playStatefulSet(
  simulation: Simulation,
  random: Random,
  ready: Distribution,
  scenario: Scenario,
  pods: number,
  controller: EndpointSliceController,
  remove: (pod: number) => void,
): void {
  // Deletions are as far apart as the longest hold: policies then differ in time, told by arithmetic, and not in what they see.
  const apart = scenario.pod.grace;
  let at = 0;
  for (let pod = 0; pod < pods; pod++) {
    simulation.at(at, remove, pod);
    at += apart + draw(ready, random);
    simulation.at(at, () => controller.change(-1));
  }
}
