/**
 * Writes the container image as an OCI archive, without Docker:
 *
 *     npm run image -- lameduck.tar
 *     skopeo copy --all oci-archive:lameduck.tar docker://registry.example/lameduck:0.1.0
 *
 * Equal inputs give the same digest. --only x64 or arm64 leaves the other out; --repository names it otherwise.
 */
import { resolve } from "node:path";
import { commandLine } from "../../../scripts/command-line.ts";
import { ImageError, type Processor } from "./built.ts";
import { defaultRepository, writeOperatorImage } from "./image.ts";

const { values, positionals } = commandLine(import.meta.url, {
  allowPositionals: true,
  options: {
    only: { type: "string" },
    repository: { type: "string", default: defaultRepository },
  },
});

async function main(to: string, only: Processor | undefined): Promise<void> {
  const { reference, digest } = await writeOperatorImage(resolve(to), {
    repository: values.repository,
    ...(only === undefined ? {} : { processors: [only] }),
  });
  process.stdout.write(`${reference} ${digest}\n`);
}

const [to] = positionals;
const { only } = values;
if (to === undefined || (only !== undefined && only !== "x64" && only !== "arm64")) {
  process.stderr.write("usage: npm run image -- FILE.tar [--only x64|arm64] [--repository NAME]\n");
  process.exitCode = 2;
} else
  try {
    await main(to, only);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    process.stderr.write(`cannot write the image: ${error.message}\n`);
    process.exitCode = 1;
  }
