import { LocalImages, parseImage, type FindImage, type LocalImage } from "@lameduck/images";
import { askOutside } from "@lameduck/stage";
import { Progress } from "../progress.ts";

/** Images are found and unpacked by the process outside of the stage: engines do not work in its namespaces. */
interface OutsideImages {
  /** For `enterStage`. */
  answer(question: unknown): Promise<unknown>;
  /** Ends what is under way, and leaves nothing of it. */
  close(): Promise<void>;
}

interface Question {
  readonly image: string;
  /** What it says of itself is enough. */
  readonly isConfig?: boolean;
}

/** More often nobody can read it. */
const periodMs = 100;

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** @param given what `--image` named. */
export function openOutside(given: readonly string[]): OutsideImages {
  const interrupt = new AbortController();
  const interrupted = (): void => interrupt.abort(new Error("interrupted"));
  for (const signal of signals) process.on(signal, interrupted);
  const progress = new Progress();
  let shown = 0;
  const images = new LocalImages({
    given: given.map(parseImage),
    signal: interrupt.signal,
    onProgress: (stage, figures) => {
      if (Date.now() - shown < periodMs) return;
      shown = Date.now();
      progress.update(stage, figures);
    },
  });
  return {
    answer: async (question) => {
      const { image, isConfig = false } = question as Question;
      try {
        return await (isConfig ? images.configOf(image) : images.find(image));
      } catch (error) {
        // The signal has gone there, too, and is all that there is to tell.
        if (interrupt.signal.aborted) return await new Promise(() => undefined);
        throw error;
      } finally {
        progress.done();
      }
    },
    close: async () => {
      interrupted();
      await images.close();
      progress.done();
      for (const signal of signals) process.off(signal, interrupted);
    },
  };
}

/** In the stage. */
export function findOutside(signal: AbortSignal): FindImage {
  return async (image) => (await askOutside({ image } satisfies Question, signal)) as LocalImage | undefined;
}

/** In the stage: what an image says of itself. */
export async function configOutside(image: string, signal: AbortSignal): Promise<Said> {
  return (await askOutside({ image, isConfig: true } satisfies Question, signal)) as Said;
}

type Said = Awaited<ReturnType<LocalImages["configOf"]>>;
