/**
 * Images as people have them, of servers of this machine, with the manifests that the test cluster runs them by. All five, as both users and by
 * lab and proof, are `npm run test:images`.
 */
import assert from "node:assert/strict";
import { chmodSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { without } from "../../../scripts/programs.ts";
import { cacheDirectory } from "../../../e2e/cluster/host/paths.ts";
import { buildJvm } from "../../../e2e/cluster/host/programs.ts";
import { serverImages } from "../../../e2e/cluster/images/catalogue.ts";
import { writeImage } from "../../../e2e/cluster/images/image.ts";
import { deployment } from "../../../e2e/cluster/workload.ts";
import { configuration, software } from "../../../e2e/injected/software.ts";
import { resultsOf } from "../../accounting/test/results-of.ts";
import {
  hasInit,
  nobody,
  program,
  runProgram,
  withoutNamespaces,
  withoutNobody,
  type Ended,
} from "./running.ts";

const isWhole = process.env["LAMEDUCK_IMAGES"] === "1";
const folder = mkdtempSync(join(tmpdir(), "lameduck-servers-"));
after(() => rmSync(folder, { recursive: true, force: true }));
chmodSync(folder, 0o755);

const rows: readonly {
  readonly name: "nginx" | "haproxy" | "gunicorn" | "jvm" | "node";
  readonly needs: readonly string[];
  /** Its image is small, and it starts at once. */
  readonly isQuick?: true;
}[] = [
  { name: "nginx", needs: ["nginx"], isQuick: true },
  { name: "haproxy", needs: ["haproxy"], isQuick: true },
  { name: "gunicorn", needs: ["gunicorn"] },
  { name: "jvm", needs: ["jlink", "javac"] },
  { name: "node", needs: [] },
];

const noNamespaces = await withoutNamespaces();
const users = [
  { who: "whoever runs the tests", prefix: [], not: noNamespaces },
  { who: "an ordinary user", prefix: nobody, not: noNamespaces || withoutNobody() },
];

/** Archive and manifest of a server, made once. */
const made = new Map<string, Promise<{ readonly image: string; readonly manifest: string }>>();

async function make(name: string): Promise<{ readonly image: string; readonly manifest: string }> {
  const pod = software[name]?.pod ?? {};
  const reference = pod.image ?? "";
  const runtime = name === "jvm" ? await buildJvm(cacheDirectory(), () => undefined) : undefined;
  const image = (await serverImages(runtime)).find((one) => one.reference === reference);
  assert.ok(image, `no image of ${name}`);
  const archive = join(folder, `${name}.tar`);
  await writeImage(image, archive);
  const manifest = join(folder, `${name}.json`);
  const annotations = { "lameduck.dev/drain": "3s", "lameduck.dev/convergence": "3s" };
  const workload = deployment({ name, replicas: 2, gracePeriodSeconds: 15, ...pod });
  writeFileSync(
    manifest,
    JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [configuration, { ...workload, metadata: { ...workload.metadata, annotations } }],
    }),
  );
  return { image: `${reference}=${archive}`, manifest };
}

async function ran(
  name: string,
  prefix: readonly string[],
  words: (image: string, manifest: string) => readonly string[],
): Promise<Ended> {
  if (!made.has(name)) made.set(name, make(name));
  const { image, manifest } = await made.get(name)!;
  const cache = mkdtempSync(join(folder, "cache-"));
  chmodSync(cache, 0o777);
  const [file = "", ...args] = [...prefix, process.execPath, program, ...words(image, manifest)];
  const ended = await runProgram(file, args, { env: { ...process.env, XDG_CACHE_HOME: cache, HOME: cache } });
  assert.deepEqual(globSync("lameduck/images/*/used-*", { cwd: cache }), []);
  rmSync(cache, { recursive: true });
  return ended;
}

// Each has namespaces of its own and little load.
describe("images of servers", { concurrency: 2 }, () => {
  for (const { name, needs, isQuick } of rows)
    for (const { who, prefix, not } of users) {
      const skip = not || without(...needs);
      if (isWhole || (isQuick && prefix.length === 0))
        test(
          `audit --prove shows what the image of ${name} loses as it is, and less with the fix, for ${who}`,
          { skip },
          () => proves(name, prefix),
        );
      if (isWhole)
        test(
          `lab shows what the image of ${name} loses as it is, and less with a hold, for ${who}`,
          { skip: skip || (!hasInit() && "needs npm run build:init") },
          () => labShows(name, prefix),
        );
    }
  if (!isWhole)
    test("the other servers, the other user, and the lab", { skip: "minutes: npm run test:images" });
});

async function proves(name: string, prefix: readonly string[]): Promise<void> {
  const { out, err } = await ran(name, prefix, (image, manifest) => [
    "audit",
    manifest,
    "--prove",
    "--image",
    image,
    "--json",
    "-",
  ]);
  const [proof] = (JSON.parse(out) as { proofs: Shown[] }).proofs;
  assert.ok(proof?.before && proof.after, out + err);
  assert.match(proof.notes.join("\n"), /container server runs the image /);
  assert.deepEqual([proof.before.terminations, proof.after.terminations], [2, 2]);
  assert.ok(proof.before.lost > 0, out);
  assert.ok(proof.after.lost < proof.before.lost, out);
  const confirmed = proof.verdicts.filter(({ verdict }) => verdict === "confirmed");
  assert.ok(
    confirmed.some(({ rule }) => rule === "no-lame-duck"),
    out,
  );
}

async function labShows(name: string, prefix: readonly string[]): Promise<void> {
  const { out, err } = await ran(name, prefix, (image, manifest) => [
    "lab",
    "-f",
    manifest,
    "--image",
    image,
    ...words("--remedies nothing,adaptive --rps 60 --warm-up 1s --json - --propagation"),
    "exactly 1s..2s",
  ]);
  const [nothing, adaptive] = resultsOf(out).remedies;
  assert.ok(nothing && adaptive, err);
  assert.deepEqual([nothing.terminations, adaptive.terminations], [2, 2]);
  assert.ok(nothing.lost > 0, out);
  assert.ok(adaptive.lost < nothing.lost, out);
  assert.equal(adaptive.killed, 0);
}

const words = (text: string): readonly string[] => text.split(" ");

interface Shown {
  readonly notes: readonly string[];
  readonly before?: Result;
  readonly after?: Result;
  readonly verdicts: readonly { readonly rule: string; readonly verdict: string }[];
}

interface Result {
  readonly terminations: number;
  readonly lost: number;
}
