import type { Field } from "@lameduck/manifests";
import { hookOf, probeOf, type Hook, type Probe } from "./handler.ts";
import type { ImageFacts } from "./dockerfile.ts";
import { isOfficialImage } from "./image-name.ts";
import type { Images } from "./images.ts";
import { mountedScripts } from "./mounted-scripts.ts";
import { environmentOf, type ConfigMaps } from "./environment.ts";
import { servedBy } from "./pid-one.ts";
import type { Served, Surroundings } from "./served.ts";
import { dereferenced, type Variables } from "./shell/scope.ts";
import { softwareOf, type Software } from "./software.ts";

interface Port {
  readonly name: string | undefined;
  readonly number: number;
  readonly host: number | undefined;
}

export interface Container {
  readonly field: Field;
  readonly name: string;
  readonly image: string | undefined;
  /** The command line of PID 1; undefined where only the image knows it. */
  readonly argv: readonly string[] | undefined;
  /** Where to point when the command line is at fault. */
  readonly argvField: Field;
  /** The program that serves, and what stands between it and SIGTERM; undefined where only the image knows it. */
  readonly served: Served | undefined;
  /** Variables whose value is known. */
  readonly env: ReadonlyMap<string, string>;
  /** Variables that have a value from elsewhere, and whether all of an object come in addition. */
  readonly variables: Variables;
  /** PID 1 is the pause process, or the node's. */
  readonly isPidShared: boolean;
  /** `lameduck inject` or its webhook has been at the pod. */
  readonly isInjected: boolean;
  readonly envFields: ReadonlyMap<string, Field>;
  readonly ports: readonly Port[];
  readonly lifecycle: Field;
  readonly hook: Hook | undefined;
  readonly startup: Probe | undefined;
  readonly liveness: Probe | undefined;
  readonly readiness: Probe | undefined;
  readonly imageFacts: ImageFacts | undefined;
  /** What is known of the program that serves, by its command line or its image. */
  readonly software: Software | undefined;
}

/** What the pod is for its containers. */
interface PodFacts {
  readonly spec: Field;
  readonly images: Images;
  readonly configMaps: ConfigMaps;
  readonly isPidShared: boolean;
  readonly isInjected: boolean;
}

export function containerOf(field: Field, pod: PodFacts): Container {
  const { images, configMaps, isPidShared, isInjected } = pod;
  const image = field.at("image").text();
  const imageFacts = images.factsOf(image);
  const command = field.at("command");
  const args = field.at("args");
  const { env, envFields, variables } = environmentOf(field, configMaps, imageFacts?.env);
  const argv = argvOf(command, args, image, imageFacts)?.map((word) => dereferenced(word, env));
  const scripts = mountedScripts(field, pod.spec, configMaps);
  const around = { image: imageFacts?.base ?? image, variables, isPidShared, scripts };
  const lifecycle = field.at("lifecycle");
  return {
    field,
    name: field.at("name").text() ?? "(no name)",
    image,
    argv,
    argvField: command.exists
      ? command
      : args.exists
        ? args
        : image === undefined
          ? field
          : field.at("image"),
    served: argv === undefined ? ofArguments(args.texts(), around) : servedBy(argv, around),
    env,
    envFields,
    variables,
    isPidShared,
    isInjected,
    ports: field
      .at("ports")
      .items()
      .filter((port) => (port.at("protocol").text() ?? "TCP") === "TCP")
      .map((port) => ({
        name: port.at("name").text(),
        number: port.at("containerPort").whole(1, 1),
        host: port.at("hostPort").exists ? port.at("hostPort").whole(0, 0) : undefined,
      })),
    lifecycle,
    hook: hookOf(lifecycle, { variables, isPidShared, scripts }),
    startup: probeOf(field.at("startupProbe")),
    liveness: probeOf(field.at("livenessProbe")),
    readiness: probeOf(field.at("readinessProbe")),
    imageFacts,
    software: softwareOf(argv ?? args.texts(), argv !== undefined, around),
  };
}

/** The arguments for the image's entry point. The image may have none, or these words may replace it: nothing here says which. */
function ofArguments(words: readonly string[], around: Surroundings): Served | undefined {
  const { argv, pidOne } =
    words[0] === undefined || words[0].startsWith("-") ? { argv: [] } : servedBy(words, around);
  if (pidOne === undefined) return undefined;
  const because = `the image puts its entry point before it, which is not known here; ${pidOne.because}`;
  return { argv, pidOne: { ...pidOne, certainty: "unknown", because } };
}

/** As the kubelet puts it together: `command` replaces the image's ENTRYPOINT and its CMD, `args` replaces its CMD. */
function argvOf(
  command: Field,
  args: Field,
  image: string | undefined,
  facts: ImageFacts | undefined,
): readonly string[] | undefined {
  if (command.exists) return [...command.texts(), ...args.texts()];
  if (facts !== undefined) {
    const { entrypoint = [], cmd = [] } = facts;
    const argv = [...entrypoint, ...(args.exists ? args.texts() : cmd)];
    return argv.length === 0 ? undefined : argv;
  }
  // The entry points of Docker Hub's official images are replaced by their arguments, unless these are options.
  const words = args.texts();
  return isOfficialImage(image) && words[0] !== undefined && !words[0].startsWith("-") ? words : undefined;
}
