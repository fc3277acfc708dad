import { Follower, hasStatus, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import { operatorNames } from "../names.ts";

interface WebhookConfiguration extends KubernetesObject {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[];
}

const group = "/apis/admissionregistration.k8s.io/v1";
const paths = [`${group}/mutatingwebhookconfigurations`, `${group}/validatingwebhookconfigurations`];

export interface TrustOptions {
  /** Something has changed: what is wrong must be put right. */
  readonly onChange: () => void;
  readonly onFailure: (error: Error) => void;
}

/** What the API server trusts, as our webhook configurations say. */
export class Trust {
  readonly #client: KubernetesClient;
  readonly #followers: readonly { readonly path: string; readonly follower: Follower<WebhookConfiguration> }[];

  constructor(client: KubernetesClient, { onChange, onFailure }: TrustOptions) {
    this.#client = client;
    const query = { fieldSelector: `metadata.name=${operatorNames.configuration}` };
    this.#followers = paths.map((path) => ({
      path,
      follower: new Follower<WebhookConfiguration>(client, { path, query, onChange, onFailure }),
    }));
  }

  async start(): Promise<void> {
    await Promise.all(this.#followers.map(({ follower }) => follower.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#followers.map(({ follower }) => follower.stop()));
  }

  /** Whether every webhook of ours trusts it. @param cert PEM. */
  trusts(cert: string): boolean {
    return this.#bundles().every((bundle) => bundle.includes(cert.trim()));
  }

  isTold(bundle: string): boolean {
    return this.#bundles().every((one) => one === bundle);
  }

  /** @returns how many webhook configurations were put right. */
  async tell(bundle: string): Promise<number> {
    const caBundle = Buffer.from(bundle).toString("base64");
    let changed = 0;
    for (const { path, follower } of this.#followers)
      for (const { metadata, webhooks = [] } of follower.objects) {
        const wrong = webhooks.flatMap(({ clientConfig }, index) =>
          clientConfig !== undefined && clientConfig.caBundle !== caBundle ? [index] : [],
        );
        if (wrong.length === 0) continue;
        const operations = [
          // Another replica, or an upgrade, may have been faster: the list may have another order by now.
          { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
          ...wrong.map((index) => ({
            op: "add",
            path: `/webhooks/${index}/clientConfig/caBundle`,
            value: caBundle,
          })),
        ];
        changed += await this.#patched(`${path}/${metadata.name}`, operations);
      }
    return changed;
  }

  #bundles(): string[] {
    return this.#followers.flatMap(({ follower }) =>
      follower.objects.flatMap(({ webhooks = [] }) =>
        webhooks.map(({ clientConfig }) => Buffer.from(clientConfig?.caBundle ?? "", "base64").toString()),
      ),
    );
  }

  /** What has changed meanwhile is seen by the watch, and looked at again then. */
  async #patched(path: string, operations: readonly object[]): Promise<number> {
    const query = new URLSearchParams({ fieldManager: operatorNames.fieldManager }).toString();
    try {
      await this.#client.patch(`${path}?${query}`, operations, "json-patch");
      return 1;
    } catch (error) {
      if (hasStatus(error, 404, 409, 422)) return 0;
      throw error;
    }
  }
}
