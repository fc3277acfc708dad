import { type KubernetesClient, type KubernetesObject, orUndefined, Source } from "@lameduck/kube";
import { identityOf } from "@lameduck/cluster";
import { operatorNames } from "@lameduck/protocol";

interface WebhookConfiguration extends KubernetesObject {
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } | undefined }[];
}

const group = "/apis/admissionregistration.k8s.io/v1";
const kinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] as const;
const always = kinds.map((kind) => ({ kind, name: operatorNames.configuration as string }));

interface CaBundlesOptions {
  /** Names of further ValidatingWebhookConfigurations of ours. The operator always has one configuration of each kind. */
  readonly extraConfigurations?: readonly string[] | undefined;
  /** Called when a webhook configuration has changed, so that a wrong caBundle is put right. */
  readonly onChange: () => void;
  readonly onProblem: (error: unknown) => void;
}

/** The caBundles of our webhook configurations: the authorities that the API server trusts. */
export class CaBundles {
  readonly #client: KubernetesClient;
  readonly #sources: readonly { readonly path: string; readonly source: Source<WebhookConfiguration> }[];

  constructor(client: KubernetesClient, { onChange, onProblem, extraConfigurations = [] }: CaBundlesOptions) {
    this.#client = client;
    const all = [...always, ...extraConfigurations.map((name) => ({ kind: kinds[1], name }))];
    this.#sources = all.map(({ kind, name }) => ({
      path: `${group}/${kind}`,
      source: new Source<WebhookConfiguration>(client, {
        name: kind,
        path: `${group}/${kind}`,
        query: { fieldSelector: `metadata.name=${name}` },
        keep: ({ metadata, webhooks = [] }) => ({
          metadata: identityOf(metadata),
          webhooks: webhooks.map(({ clientConfig }) => ({ clientConfig })),
        }),
        onChange,
        onProblem: (_name, error) => onProblem(error),
      }),
    }));
  }

  async start(): Promise<void> {
    for (const { source } of this.#sources) source.start();
    await Promise.all(this.#sources.map(({ source }) => source.settled));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sources.map(({ source }) => source.stop()));
  }

  /** Whether every webhook of ours trusts the authority. False until all configurations were read. @param cert PEM. */
  isInEvery(cert: string): boolean {
    const isKnown = this.#sources.every(({ source }) => source.state === "synced");
    return isKnown && this.#bundles().every((bundle) => bundle.includes(cert.trim()));
  }

  isInPlace(bundle: string): boolean {
    return this.#bundles().every((one) => one === bundle);
  }

  /** @returns how many webhook configurations were put right. */
  async write(bundle: string): Promise<number> {
    const caBundle = Buffer.from(bundle).toString("base64");
    const query = new URLSearchParams({ fieldManager: operatorNames.fieldManager }).toString();
    let changed = 0;
    for (const { path, source } of this.#sources)
      for (const { metadata, webhooks = [] } of source.objects) {
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
        const place = `${path}/${metadata.name}?${query}`;
        const patched = await orUndefined(this.#client.patch(place, operations, "json-patch"), 404, 409, 422);
        if (patched !== undefined) changed++;
      }
    return changed;
  }

  #bundles(): string[] {
    return this.#sources.flatMap(({ source }) =>
      source.objects.flatMap(({ webhooks = [] }) =>
        webhooks.map(({ clientConfig }) => Buffer.from(clientConfig?.caBundle ?? "", "base64").toString()),
      ),
    );
  }

  /** The watch sees what has changed meanwhile, and the configuration is then looked at again. */
}
