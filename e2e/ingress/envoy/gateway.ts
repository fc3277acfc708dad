import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import { writeImage, type Cluster, type Manifest } from "../../cluster/index.ts";
import type { Image } from "../../cluster/images/image.ts";
import type { Beside } from "../watcher-beside.ts";

/** The request that a client has numbered, as Envoy logs it. */
export const requestHeader = "x-lameduck-request";

/** Something that keeps Envoys, as its own manual has it. */
export interface EnvoyControl {
  readonly namespace: string;
  /** Labels of Envoy's pods. */
  readonly selector: string;
  /** Of the Envoys' pods. */
  readonly account: string;
  /** Where clients call Envoy's pods. */
  readonly port: number;
  /** Envoy's administration interface, in its pod. */
  readonly admin: string;
  /** The classes by which routes lead to it. */
  readonly serves: readonly string[];
  /** Does nothing where it is there, with or without the same container beside. */
  install(cluster: Cluster): Promise<void>;
  /** Changes what starts before each Envoy and ends after it, and waits until all are so. */
  beside(cluster: Cluster, beside: Beside | undefined): Promise<void>;
}

export async function isInstalled(cluster: Cluster, namespace: string): Promise<boolean> {
  const found = await cluster.kubectl(["get", "namespace", namespace, "--ignore-not-found", "-o", "name"]);
  return found !== "";
}

export async function deliver(cluster: Cluster, images: readonly Image[]): Promise<void> {
  for (const image of images) await cluster.loadImage((file) => writeImage(image, file));
}

/** By the server: some definitions are too long for the annotation in which kubectl keeps what it has applied. Definitions and namespaces come first. */
export async function applyInOrder(cluster: Cluster, objects: readonly Manifest[]): Promise<void> {
  const isFirst = ({ kind }: Manifest): boolean =>
    kind === "CustomResourceDefinition" || kind === "Namespace";
  const apply = async (items: readonly Manifest[]): Promise<void> => {
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    await cluster.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], list);
  };
  const [first, others] = [objects.filter(isFirst), objects.filter((one) => !isFirst(one))];
  if (first.length > 0) {
    await apply(first);
    await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
  }
  if (others.length > 0) await apply(others);
}

export const objectsInFile = async (file: string): Promise<Manifest[]> =>
  objectsIn(await readFile(file, "utf8"));

/** As kubectl reads them: 0644 is octal. */
export function objectsIn(text: string): Manifest[] {
  const documents = parseAllDocuments(text, { version: "1.1" }).map((one) => one.toJS() as Manifest | null);
  return documents.filter((one) => one !== null);
}

export async function rolledOut(cluster: Cluster, namespace: string, name: string): Promise<void> {
  await cluster.kubectl(["rollout", "status", `deployment/${name}`, "-n", namespace, "--timeout=180s"]);
}
