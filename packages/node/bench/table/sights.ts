import type { PodEvent, SenderEvent } from "@lameduck/rollout";

/** What was seen of pods and senders, and which pods each sender chooses. */
export class Sights {
  readonly podEvents: PodEvent[] = [];
  readonly senderEvents: SenderEvent[] = [];
  readonly #deleted = new Set<string>();
  readonly #chosen = new Map<string, Set<string>>();

  pod(event: PodEvent): void {
    this.podEvents.push(event);
    if (event.type === "deleted") this.#deleted.add(event.pod);
  }

  sender(event: SenderEvent): void {
    this.senderEvents.push(event);
    if (event.type !== "added" && event.type !== "converged") return;
    const pods = this.#chosen.get(event.sender) ?? new Set();
    this.#chosen.set(event.sender, pods);
    if (event.type === "added") pods.add(event.pod);
    else pods.delete(event.pod);
  }

  allChoose(senders: readonly string[], pods: readonly string[]): boolean {
    return senders.every((sender) => pods.every((pod) => this.#chosen.get(sender)?.has(pod)));
  }

  /** Some sender still chooses a pod that was deleted. */
  get stale(): boolean {
    return [...this.#chosen.values()].some((pods) => [...pods].some((pod) => this.#deleted.has(pod)));
  }
}
