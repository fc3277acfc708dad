import { Command } from "commander";
import { ImageError } from "@lameduck/images";
import { enterStage, insideStage, OtherPortError, whyNoNamespaces, type LabSettings } from "@lameduck/stage";
import { findOutside, openOutside } from "../images/outside.ts";
import { isOfSignal } from "../exit-codes.ts";
import { catchInterrupt } from "../interrupt.ts";
import type { RunNews } from "../live/known.ts";
import { Ui } from "../live/ui.ts";
import { say } from "../output.ts";
import { conduct, isRepeatable } from "./conduct.ts";
import { addLabOptions, type LabOptions } from "./options.ts";
import { labSettings } from "./settings.ts";

/** `lameduck lab`: rollouts under load on this machine. */
export function labCommand(exit: (code: number) => void): Command {
  const command = addLabOptions(
    new Command("lab")
      .description(
        "Roll servers on this machine under load, with and without remedies, and account for every lost request.",
      )
      .argument(
        "[command...]",
        "the server and its arguments, after --; without one, the manifest's, or a bundled sample; with --image the arguments of its entry point",
      ),
  );
  return command.action(async (argv: string[], options: LabOptions) => {
    // Mistakes are reported before a namespace is entered. Standard input can be read only once: inside.
    if (!insideStage() && options.file !== "-") await labSettings(options, argv);
    if (!insideStage() && options.image) mustHaveNamespaces(await whyNoNamespaces());
    // What is run inside is this very command line, so that there is one way of reading it.
    const [, program = "", ...rest] = process.argv;
    if (insideStage()) {
      exit(await conductWherePodsListen(argv, options));
      return;
    }
    const ui = options.ui ? await Ui.open() : undefined;
    const images = openOutside(options.image ?? []);
    try {
      const code = await enterStage(program, rest, {
        network: options.image ? "namespaces" : options.network,
        allow: (options.allow ?? []).filter((one) => typeof one !== "string"),
        writable: (options.allow ?? []).filter((one) => typeof one === "string"),
        say,
        answer: (question) => images.answer(question),
        ...(ui ? { heard: (news) => ui.tell(news as RunNews) } : {}),
      });
      exit(code);
      if (!isOfSignal(code)) await ui?.stay();
    } finally {
      await images.close();
      await ui?.close();
    }
  });
}

/** A program that does not take its port from PORT is met where it listens. */
async function conductWherePodsListen(argv: readonly string[], options: LabOptions): Promise<number> {
  const interrupt = catchInterrupt();
  let settings: LabSettings;
  try {
    settings = await labSettings(options, argv, findOutside(interrupt.signal));
    interrupt.signal.throwIfAborted();
  } catch (error) {
    if (interrupt.signal.aborted) return interrupt.exitCode;
    throw error;
  } finally {
    interrupt.release();
  }
  try {
    return await conduct(settings, options);
  } catch (error) {
    const [port] = error instanceof OtherPortError ? error.ports : [];
    if (port === undefined || !isRepeatable(options)) throw error;
    say(`the program listens on port ${port}: going there`);
    const found = { ...options, port };
    const { signal } = new AbortController();
    return conduct(await labSettings(found, argv, findOutside(signal)), found);
  }
}

function mustHaveNamespaces(because: string | undefined): void {
  if (because !== undefined) throw new ImageError("LAMEDUCK_IMAGE_NEEDS_NAMESPACES", "--image", because);
}
