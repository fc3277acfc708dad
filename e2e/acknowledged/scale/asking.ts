import { Agent, get } from "node:http";

export interface AskOptions {
  /** http://HOST:PORT */
  readonly coordinator: string;
  readonly namespace: string;
  readonly pod: { readonly name: string; readonly uid: string; readonly address: string };
  readonly signal: AbortSignal;
}

/** Asks as the pod does, from its own address, until the coordinator says something final; returns that state. */
export async function askUntilReleased(options: AskOptions): Promise<string> {
  const agent = new Agent({ keepAlive: true });
  try {
    let seen = "";
    for (;;) {
      const state = await askOnce(options, seen, agent);
      if (state === "released" || state === "incomplete") return state;
      seen = state;
    }
  } finally {
    agent.destroy();
  }
}

function askOnce(
  { coordinator, namespace, pod, signal }: AskOptions,
  seen: string,
  agent: Agent,
): Promise<string> {
  const url = `${coordinator}/v1/pods/${namespace}/${pod.name}?uid=${pod.uid}&wait=20&seen=${seen}`;
  return new Promise((resolve, reject) => {
    get(url, { localAddress: pod.address, agent, signal }, (response) => {
      let text = "";
      response
        .setEncoding("utf8")
        .on("data", (chunk: string) => (text += chunk))
        .on("end", () => {
          const state = /^state: (\w+)$/m.exec(text)?.[1];
          if (response.statusCode === 200 && state !== undefined) resolve(state);
          else reject(new Error(`${response.statusCode}: ${text}`));
        })
        .on("error", reject);
    }).on("error", reject);
  });
}
