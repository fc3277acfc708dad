import type { Field } from "@lameduck/manifests";
import { hookOf, probeOf, type Hook, type Probe } from "./handler.ts";
import type { ImageFacts, Images } from "./images.ts";
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
  /** An init container with restartPolicy: Always. It is stopped after all others. */
  readonly isSidecar: boolean;
  /** The command line of PID 1; undefined where only the image knows it. */
  readonly argv: readonly string[] | undefined;
  /** Where to point when the command line is at fault. */
  readonly argvField: Field;
  /** Variables with a literal value. */
  readonly env: ReadonlyMap<string, string>;
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

export function containerOf(field: Field, isSidecar: boolean, images: Images): Container {
  const image = field.at("image").text();
  const imageFacts = images.factsOf(image);
  const command = field.at("command");
  const args = field.at("args");
  const argv = argvOf(command, args, imageFacts);
  const { env, envFields } = environmentOf(field);
  const lifecycle = field.at("lifecycle");
  return {
    field,
    name: field.at("name").text() ?? "(no name)",
    image,
    isSidecar,
    argv,
    argvField: command.exists
      ? command
      : args.exists
        ? args
        : image === undefined
          ? field
          : field.at("image"),
    env,
    envFields,
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
    hook: hookOf(lifecycle, env),
    startup: probeOf(field.at("startupProbe")),
    liveness: probeOf(field.at("livenessProbe")),
    readiness: probeOf(field.at("readinessProbe")),
    imageFacts,
    software: softwareOf(argv ?? args.texts(), argv !== undefined, image),
  };
}

/** As the kubelet puts it together: `command` replaces the image's ENTRYPOINT and its CMD, `args` replaces its CMD. */
function argvOf(command: Field, args: Field, image: ImageFacts | undefined): readonly string[] | undefined {
  if (command.exists) return [...command.texts(), ...args.texts()];
  if (image === undefined) return undefined;
  const { entrypoint = [], cmd = [] } = image;
  return [...entrypoint, ...(args.exists ? args.texts() : cmd)];
}

function environmentOf(field: Field): Pick<Container, "env" | "envFields"> {
  const env = new Map<string, string>();
  const envFields = new Map<string, Field>();
  for (const entry of field.at("env").items()) {
    const name = entry.at("name").mustText();
    const value = entry.at("value");
    envFields.set(name, value.exists ? value : entry.at("name"));
    if (value.exists) env.set(name, value.mustText());
  }
  return { env, envFields };
}
