/**
 * Writes the container image as an OCI archive, without Docker:
 *
 *     npm run image -- lameduck.tar
 *     skopeo copy --all oci-archive:lameduck.tar docker://registry.example/lameduck:VERSION
 *
 * A bill of materials (CycloneDX) for each processor stands in the image, and beside it as lameduck.amd64.cdx.json. Equal inputs give the
 * same digest.
 *
 * With --context it writes a folder instead, with a Dockerfile, from which Docker, Podman or buildah build the image on a base of yours:
 *
 *     npm run image -- --context image && docker buildx build --platform linux/amd64,linux/arm64 image
 *
 *     --only x64 or arm64   builds for one processor
 *     --repository NAME     names the image otherwise
 *     --clouds              adds a layer with what reads load balancers of AWS and Google Cloud
 */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { commandLine } from "../../../scripts/command-line.ts";
import { ImageError, type Processor } from "./built.ts";
import { writeContext } from "./context.ts";
import { defaultRepository, writeOperatorImage } from "./image.ts";

const { values, positionals } = commandLine(import.meta.url, {
  allowPositionals: true,
  options: {
    context: { type: "string" },
    only: { type: "string" },
    clouds: { type: "boolean", default: false },
    repository: { type: "string", default: defaultRepository },
  },
});

async function main(to: string, only: Processor | undefined): Promise<void> {
  const { reference, digest, bills } = await writeOperatorImage(resolve(to), {
    repository: values.repository,
    clouds: values.clouds,
    ...(only === undefined ? {} : { processors: [only] }),
  });
  for (const [architecture, bill] of bills)
    await writeFile(resolve(`${to.replace(/\.tar$/, "")}.${architecture}.cdx.json`), bill);
  process.stdout.write(`${reference} ${digest}\n`);
}

const [to] = positionals;
const { only, context } = values;
if (
  (to === undefined) === (context === undefined) ||
  (only !== undefined && only !== "x64" && only !== "arm64")
) {
  process.stderr.write(
    "usage: npm run image -- FILE.tar [--only x64|arm64] [--clouds] [--repository NAME], or --context FOLDER [--clouds]\n",
  );
  process.exitCode = 2;
} else
  try {
    if (context !== undefined) await writeContext(resolve(context), { clouds: values.clouds });
    if (to !== undefined) await main(to, only);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    process.stderr.write(`cannot write the image: ${error.message}\n`);
    process.exitCode = 1;
  }
