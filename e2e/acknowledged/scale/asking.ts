import { Agent, get } from "node:http";

export interface AskOptions {
  /** http://HOST:PORT */
  readonly coordinator: string;
  readonly namespace: string;
  readonly pod: { readonly name: string; readonly uid: string; readonly address: string };
  /** Ends the hold, as its cap does. */
  readonly signal: AbortSignal;
}

/** What the coordinator says of a pod. */
export interface Answer {
  readonly state: string;
  /** Consumers that have let go, of those that matter: "4990/5000". */
  readonly consumers: string;
  /** Who is waited for. */
  readonly behind: string;
}

/** Asks as the pod does, from its own address, until it is released or its hold ends; returns the last answer. */
export async function askUntilReleased(options: AskOptions): Promise<Answer> {
  const agent = new Agent({ keepAlive: true });
  let last: Answer | undefined;
  try {
    while (last?.state !== "released")
      last = await askOnce(options, agent, { wait: "20", seen: last?.state ?? "" });
    return last;
  } catch (error) {
    if (!options.signal.aborted) throw error;
    return await askOnce({ ...options, signal: AbortSignal.timeout(5_000) }, agent, { wait: "0" });
  } finally {
    agent.destroy();
  }
}

function askOnce(
  { coordinator, namespace, pod, signal }: AskOptions,
  agent: Agent,
  how: Readonly<Record<string, string>>,
): Promise<Answer> {
  const query = new URLSearchParams({ uid: pod.uid, ...how });
  const url = `${coordinator}/v1/pods/${namespace}/${pod.name}?${query.toString()}`;
  return new Promise((resolve, reject) => {
    get(url, { localAddress: pod.address, agent, signal }, (response) => {
      let text = "";
      response
        .setEncoding("utf8")
        .on("data", (chunk: string) => (text += chunk))
        .on("end", () => {
          const line = (key: string): string => new RegExp(`^${key}: (.+)$`, "m").exec(text)?.[1] ?? "";
          const state = line("state");
          if (response.statusCode === 200 && state !== "")
            resolve({ state, consumers: line("consumers"), behind: line("behind") });
          else reject(new Error(`${response.statusCode}: ${text}`));
        })
        .on("error", reject);
    }).on("error", reject);
  });
}
