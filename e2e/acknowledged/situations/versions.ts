import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isReady, type Pod } from "@lameduck/kube";
import { operatorNames } from "@lameduck/protocol";
import {
  defaultRepository,
  operatorImage,
  places,
  type PlatformImage,
  writeArchive,
} from "@lameduck/operator/image";
import type { Cluster } from "../../cluster/index.ts";
import { during, type Scenario } from "../../matrix/scenarios.ts";
import { around } from "./around.ts";
import { installAcknowledging, watchersReady } from "../installation.ts";
import { changePartly, withImage } from "./partly.ts";

const { namespace, watcher } = operatorNames;
const next = "0.2.0";
const root = join(import.meta.dirname, "..", "..", "..");
const nextImage = `${defaultRepository}:${next}`;

/** The operator's program in the image: what is started, and its parts. */
const program = places.operator.replace(/\.cjs$/, "");

/**
 * What a later minor version of the protocol may say, put into the built program: no other release exists. Each text is there once.
 */
const edits = (version: string): readonly (readonly [string, string])[] => [
  // The product's version, which webhooks write into pods.
  [`\`${version}\``, `\`${next}\``],
  // What coordinators tell pods: a minor version and a key that are unknown to them.
  ["`lameduck 1`", "`lameduck 1.4\\nnew-key: of another version`"],
  // What coordinators answer watchers.
  ["JSON.stringify({version:1,epoch:", 'JSON.stringify({version:1,"new-key":{of:"another version"},epoch:'],
  // What watchers report.
  ["{version:1,kind:", '{version:1,"new-key":{of:"another version"},kind:'],
];

/** Puts the image of the other version onto every node. */
async function deliverNext(cluster: Cluster): Promise<void> {
  const image = await operatorImage(process.arch === "arm64" ? "arm64" : "x64");
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const layers = edited(image.layers, version);
  await cluster.loadImage((file) =>
    writeArchive([{ ...image, layers }], file, { reference: nextImage, compress: false }),
  );
}

function edited(layers: PlatformImage["layers"], version: string): PlatformImage["layers"] {
  const left = new Map(edits(version));
  const edit = (text: string): string => {
    for (const [from, to] of edits(version)) {
      const count = text.split(from).length - 1;
      if (count === 0) continue;
      if (count > 1 || !left.delete(from)) throw new Error(`${from} is there more than once`);
      text = text.replace(from, () => to);
    }
    return text;
  };
  const next = layers.map(({ files, ...layer }) => ({
    ...layer,
    files: files.map((file) =>
      file.to.startsWith(program) ? { ...file, content: edit(String(file.content)) } : file,
    ),
  }));
  if (left.size > 0) throw new Error(`the built program does not have ${[...left.keys()].join(" and ")}`);
  return next;
}

const upgraded = during(
  "versions",
  "rollout restart; lameduck install of another version, which rolls webhook, coordinator and watchers",
  async ({ cluster }) => {
    const stop = new AbortController();
    const together = watchVersions(cluster, stop.signal);
    await installAcknowledging(cluster, nextImage);
    await watchersReady(cluster);
    stop.abort();
    process.stderr.write(`  ${await together}\n`);
  },
);

/**
 * Both situations have real processes of two product versions, one of which speaks a later minor version of the protocol (1.4), with keys that the
 * other does not know. They do not show that the code of an earlier or later release works with this one: it is the same code. Pods speak as
 * this version. Another major version is silence: packages/watcher/test/versions.test.ts.
 */
export const versions: readonly Scenario[] = [
  {
    ...upgraded,
    run: async (stage) => {
      await deliverNext(stage.cluster);
      await upgraded.run(stage);
      await installAcknowledging(stage.cluster);
      await watchersReady(stage.cluster);
    },
  },
  around(
    "versions-half",
    "one replica of the coordinator and the watchers of two nodes of another version",
    async ({ cluster }) => {
      await deliverNext(cluster);
      const change = withImage(nextImage);
      const nodes = cluster.nodeNames.filter((_, index) => index % 2 === 1);
      return changePartly(cluster, { coordinator: change, watcher: change, nodes });
    },
  ),
];

/** How long pods of both versions were ready beside each other. */
async function watchVersions(cluster: Cluster, signal: AbortSignal): Promise<string> {
  const seconds = new Map<string, number>();
  let before = performance.now();
  while (!signal.aborted) {
    const pods = [
      ...(await cluster.api.list<Pod>(`/api/v1/namespaces/${namespace}/pods`)),
      ...(await cluster.api.list<Pod>(`/api/v1/namespaces/${watcher.namespace}/pods`)),
    ].filter(isReady);
    const now = performance.now();
    const by = Map.groupBy(
      pods,
      ({ metadata }) => metadata.labels?.["app.kubernetes.io/component"] ?? "webhook",
    );
    for (const [component, own] of by) {
      const isBoth = new Set(own.map(({ spec }) => spec.containers[0]?.image)).size > 1;
      seconds.set(component, (seconds.get(component) ?? 0) + (isBoth ? (now - before) / 1_000 : 0));
    }
    before = now;
    await sleep(250);
  }
  const texts = [...seconds].map(([component, time]) => `${component} for ${time.toFixed(1)} s`);
  return `both versions ready: ${texts.join(", ")}`;
}
