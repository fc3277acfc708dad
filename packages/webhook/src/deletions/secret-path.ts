import { messageOf } from "@lameduck/drain/common";
import { createHmac, timingSafeEqual } from "node:crypto";
import { hasStatus, type KubernetesClient, type KubernetesObject, Source } from "@lameduck/kube";
import { identityOf } from "@lameduck/cluster";
import { operatorNames } from "@lameduck/protocol";

interface ClientConfig {
  readonly url?: string;
  readonly service?: { readonly path?: string };
}
interface Configuration extends KubernetesObject {
  readonly webhooks?: readonly { readonly clientConfig?: ClientConfig }[];
}

/** It has changed since it was read, and is looked at again. A path that the API server does not take is 422, too. */
const hasChanged = (error: unknown): boolean =>
  hasStatus(error, 404, 409) || (hasStatus(error, 422) && !messageOf(error).includes(" is invalid: "));

const group = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/**
 * Tells the API server from others that reach the port: a made-up review would have us withdraw any pod. The path that it is to call holds a
 * secret, which stands in the webhook configuration, where only administrators read it. All replicas derive the same from the authority.
 */
export class SecretPath {
  readonly #client: KubernetesClient;
  readonly #root: string;
  readonly #onProblem: (part: string, error: unknown) => void;
  readonly #source: Source<Configuration>;
  #path: string | undefined;

  /** @param root what the path begins with. @param configuration the name of the webhook configuration that is to call it. */
  constructor(
    client: KubernetesClient,
    { root, configuration }: { readonly root: string; readonly configuration: string },
    onProblem: (part: string, error: unknown) => void,
  ) {
    this.#client = client;
    this.#root = root;
    this.#onProblem = onProblem;
    this.#source = new Source<Configuration>(client, {
      name: "validatingwebhookconfigurations",
      path: group,
      query: { fieldSelector: `metadata.name=${configuration}` },
      keep: ({ metadata, webhooks = [] }) => ({
        metadata: identityOf(metadata),
        webhooks: webhooks.map(({ clientConfig = {} }) => ({ clientConfig })),
      }),
      onChange: () => this.#updateAll(),
      onProblem,
    });
  }

  start(): void {
    this.#source.start();
  }

  async stop(): Promise<void> {
    await this.#source.stop();
  }

  /** @param authorityKey PEM; the same for all replicas, and for years. */
  deriveFrom(authorityKey: string): void {
    // The path of a Service is lower case: the API server wants each part of it to be a name of DNS.
    const secret = createHmac("sha256", authorityKey).update("held deletions").digest("hex");
    const path = `${this.#root}/${secret}`;
    if (path === this.#path) return;
    this.#path = path;
    this.#updateAll();
  }

  matches(path: string): boolean {
    const [own, other] = [Buffer.from(this.#path ?? ""), Buffer.from(path)];
    return own.length > 0 && own.length === other.length && timingSafeEqual(own, other);
  }

  #updateAll(): void {
    for (const one of this.#source.objects)
      this.#update(one).catch((error: unknown) => {
        if (!hasChanged(error)) this.#onProblem("deletions", error);
      });
  }

  async #update({ metadata, webhooks = [] }: Configuration): Promise<void> {
    const path = this.#path;
    if (path === undefined) return;
    const wrong = webhooks.flatMap(({ clientConfig = {} }, index) => {
      const at = `/webhooks/${index}/clientConfig`;
      const { service, url } = clientConfig;
      if (service)
        return service.path === path ? [] : [{ op: "add", path: `${at}/service/path`, value: path }];
      if (url === undefined) return [];
      const called = new URL(path, url).href;
      return called === url ? [] : [{ op: "add", path: `${at}/url`, value: called }];
    });
    if (wrong.length === 0) return;
    const same = { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion };
    const query = new URLSearchParams({ fieldManager: operatorNames.fieldManager }).toString();
    await this.#client.patch(`${group}/${metadata.name}?${query}`, [same, ...wrong], "json-patch");
  }
}
