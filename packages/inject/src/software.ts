import { decisionVariables } from "@lameduck/options";
import {
  dockerHubs,
  frontImages,
  frontPrograms,
  programOf,
  repositoryOf,
  sidecarImages,
  sidecarNames,
  softwares,
  type Software,
} from "@lameduck/audit";
import { isMap } from "@lameduck/protocol";
import { listIn, mapsIn, pathIn, textOf } from "./pod.ts";

type Raw = Readonly<Record<string, unknown>>;

/** What is known of a container by its own words: nobody opens its image. */
interface Recognised {
  /** The program in `command`, without its folder; undefined where the image says it. */
  readonly program: string | undefined;
  /** Last part of the image's name, without tag and digest. */
  readonly image: string;
}

function recognise(container: Raw): Recognised {
  const [first] = listIn(container["command"]);
  return {
    program: first === undefined ? undefined : programOf(pathIn(first)),
    image: programOf(repositoryOf(pathIn(container["image"]))),
  };
}

/** STOPSIGNAL of images that are known, under every name by which Docker Hub's images are pulled. */
export const imageStopSignals: Readonly<Record<string, string>> = Object.fromEntries(
  softwares
    .flatMap(({ stopSignals = {} }) => Object.entries(stopSignals))
    .flatMap(([image, signal]) =>
      ["", ...dockerHubs.map((hub) => `${hub}/`)]
        .flatMap((hub) => [hub, `${hub}library/`])
        .map((prefix) => [prefix + image, signal]),
    ),
);

/** The signal for `--then`, without SIG: where the software is known to need another than the kubelet will send. */
export function gracefulSignalOf(container: Raw): string | undefined {
  const software = softwareOf(container);
  if (software?.graceful === undefined) return undefined;
  const { lifecycle, image } = container;
  if (isMap(lifecycle) && lifecycle["stopSignal"] !== undefined) return undefined;
  return imageStopSignals[repositoryOf(pathIn(image))] === software.graceful
    ? undefined
    : software.graceful.replace("SIG", "");
}

export function softwareOf(container: Raw): Software | undefined {
  const { program, image } = recognise(container);
  return softwares.find(({ programs, images }) =>
    program === undefined ? images.includes(image) : programs.includes(program),
  );
}

/** Programs and images that nothing else is called like. */
export function isNode(container: Raw): boolean {
  const { program, image } = recognise(container);
  return program === undefined ? image === "node" : program === "node";
}

export function isFront(container: Raw): boolean {
  const { program, image } = recognise(container);
  return program === undefined ? frontImages.includes(image) : frontPrograms.includes(program);
}

export function isSidecar(container: Raw): boolean {
  return (
    sidecarNames.includes(textOf(container["name"])) || sidecarImages.includes(recognise(container).image)
  );
}

/** Variables by which an app with a Lameduck of its own is told. */
export const ownVariables = new RegExp(`^(?:${decisionVariables.join("|")})$`);
export const ownLoaders: readonly string[] = ["@lameduck/node/register", "lameduck-register.cjs"];

/** Whether a preStop hook is lameduck-init, of the injection or of the container's own. */
export function isInitHook({ exec }: Raw): boolean {
  const command = isMap(exec) ? exec["command"] : undefined;
  return Array.isArray(command) && programOf(pathIn(command[0])) === "lameduck-init";
}

/** In which way the container brings Lameduck itself. */
export function ownLameduck(container: Raw): string | undefined {
  const words = [...listIn(container["command"]), ...listIn(container["args"])];
  if (recognise(container).program === "lameduck-init") return "lameduck-init is its command";
  if (words.some((word) => ownLoaders.some((loader) => word.includes(loader))))
    return "its command loads @lameduck/node";
  for (const { name, value } of mapsIn(container["env"])) {
    if (ownVariables.test(textOf(name))) return `its variable ${textOf(name)} is set`;
    if (name === "NODE_OPTIONS" && ownLoaders.some((loader) => textOf(value).includes(loader)))
      return "NODE_OPTIONS loads @lameduck/node";
  }
  return undefined;
}
