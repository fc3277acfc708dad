import { readFile } from "node:fs/promises";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import type { IncomingMessage } from "node:http";
import { ClusterError } from "./errors.ts";

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
}

export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface WatchEvent<T = KubernetesObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
  /** When the line arrived here (Date.now). */
  readonly receivedAt: number;
}

/** Objects, and the version from which a watch goes on without a gap. */
export interface Listing<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

interface Kubeconfig {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly "certificate-authority": string } },
  ];
  readonly users: readonly [
    { readonly user: { readonly "client-certificate": string; readonly "client-key": string } },
  ];
}

/** What tests need of the API and no more: requests with the client certificate of a kubeconfig that we wrote, and watches. */
export class KubernetesApi {
  readonly #server: URL;
  readonly #agent: Agent;

  private constructor(server: URL, agent: Agent) {
    this.#server = server;
    this.#agent = agent;
  }

  static async fromKubeconfig(path: string): Promise<KubernetesApi> {
    const config = JSON.parse(await readFile(path, "utf8")) as Kubeconfig;
    const { cluster } = config.clusters[0];
    const { user } = config.users[0];
    const [ca, cert, key] = await Promise.all(
      [cluster["certificate-authority"], user["client-certificate"], user["client-key"]].map((file) =>
        readFile(file),
      ),
    );
    return new KubernetesApi(new URL(cluster.server), new Agent({ ca, cert, key, keepAlive: true }));
  }

  get server(): string {
    return this.#server.origin;
  }

  get<T = KubernetesObject>(path: string): Promise<T> {
    return this.#json<T>("GET", path);
  }

  create<T extends KubernetesObject>(path: string, object: T): Promise<T> {
    return this.#json<T>("POST", path, object);
  }

  async list<T = KubernetesObject>(path: string): Promise<readonly T[]> {
    return (await this.#json<{ items: T[] }>("GET", path)).items;
  }

  async listing<T = KubernetesObject>(path: string): Promise<Listing<T>> {
    const { items, metadata } = await this.#json<{
      items: T[];
      metadata: { resourceVersion: string };
    }>("GET", path);
    return { items, resourceVersion: metadata.resourceVersion };
  }

  delete(path: string, options: object = {}): Promise<unknown> {
    return this.#json("DELETE", path, options);
  }

  merge<T = KubernetesObject>(path: string, patch: object): Promise<T> {
    return this.#json<T>("PATCH", path, patch, "application/merge-patch+json");
  }

  async text(path: string): Promise<string> {
    const response = await this.#open("GET", path, undefined, "", undefined);
    return bodyOf(response, path);
  }

  /** Events as they come, until the server or the signal ends the watch. */
  async *watch<T = KubernetesObject>(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    const response = await this.#open(
      "GET",
      `${path}${path.includes("?") ? "&" : "?"}watch=true`,
      undefined,
      "",
      signal,
    );
    if (response.statusCode !== 200) throw refused(path, response.statusCode, await bodyOf(response, path));
    let rest = "";
    response.setEncoding("utf8");
    try {
      for await (const chunk of response as AsyncIterable<string>) {
        const receivedAt = Date.now();
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield { ...(JSON.parse(line) as WatchEvent<T>), receivedAt };
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      response.destroy();
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #json<T>(method: string, path: string, body?: object, type = "application/json"): Promise<T> {
    const response = await this.#open(method, path, body, type, undefined);
    const text = await bodyOf(response, path);
    if ((response.statusCode ?? 500) >= 300) throw refused(`${method} ${path}`, response.statusCode, text);
    return JSON.parse(text) as T;
  }

  #open(
    method: string,
    path: string,
    body: object | undefined,
    type: string,
    signal: AbortSignal | undefined,
  ): Promise<IncomingMessage> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const options: RequestOptions = {
      method,
      agent: this.#agent,
      // Node frames the body of a DELETE only when told its length.
      headers: body === undefined ? {} : { "content-type": type, "content-length": Buffer.byteLength(text) },
      ...(signal === undefined ? { timeout: 30_000 } : { signal }),
    };
    return new Promise((resolve, reject) => {
      const request = httpsRequest(new URL(path, this.#server), options, resolve);
      request.on("error", reject);
      request.on("timeout", () => request.destroy(new Error(`no answer within 30 s to ${method} ${path}`)));
      request.end(text);
    });
  }
}

const refused = (place: string, status: number | undefined, text: string): ClusterError =>
  new ClusterError("LAMEDUCK_CLUSTER_BAD_RESPONSE", place, `status ${status}: ${text.slice(0, 500)}`);

async function bodyOf(response: IncomingMessage, path: string): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  try {
    for await (const chunk of response as AsyncIterable<string>) text += chunk;
  } catch (error) {
    throw new Error(`answer to ${path} cut off`, { cause: error });
  }
  return text;
}
