import type { ImageFile } from "@lameduck/audit";
import { LocalImages, parseImage } from "@lameduck/images";
import type { configOutside } from "./outside.ts";

/** All answers of engines together: an audit waits for nobody who is asleep. */
const longestMs = 3_000;
/** Programs that are asked at the same time. */
const atOnce = 4;

/**
 * What images of this machine say of themselves, as `docker inspect` prints it. An image that is not here is left out. So is one of which no engine
 * tells in time.
 * @param image what `--image` named.
 * @param askOutside asks the process outside of the stage, where engines can be reached. It is passed in because an audit alone does not load the
 * stage, which is hundreds of files.
 * @throws {ImageError} for a file that was named and cannot be read.
 */
export async function configsOf(
  names: readonly string[],
  image: readonly string[],
  signal: AbortSignal = new AbortController().signal,
  askOutside?: typeof configOutside,
): Promise<ImageFile[]> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
  const given = image.map(parseImage);
  const engines = new LocalImages({ signal: late });
  const files = new LocalImages({ given, signal });
  const found: ImageFile[] = [];
  const left = [...names];
  const ask = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const isGiven = given.some((one) => one.name === name);
      const images = isGiven ? files : engines;
      const said = askOutside ? askOutside(name, isGiven ? signal : late) : images.configOf(name);
      const one = await said.catch((error: unknown) => {
        if (isGiven || signal.aborted) throw error;
        return undefined;
      });
      if (one) found.push({ image: name, file: one.origin, text: JSON.stringify({ config: one.config }) });
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, ask));
    return found;
  } finally {
    await files.close();
  }
}
