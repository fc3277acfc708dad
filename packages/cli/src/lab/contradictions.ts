import { badOption } from "../errors.ts";
import { flagOf } from "../options.ts";
import { requestFlags } from "../request-options.ts";
import type { LabOptions } from "./options.ts";

type Name = keyof LabOptions;

/** What the manifest says instead. */
const ofCommands: readonly Name[] = ["port"];

/** The bundled server has paths of its own, and its answers are checked. */
const ofOwnServers: readonly Name[] = ["path", ...requestFlags];

/** What has no meaning where pods share this machine's network and files. */
const ofNamespaces: readonly Name[] = ["allow", "image"];

/** @throws CliError LAMEDUCK_BAD_OPTION where one option makes another one mean nothing. */
export function mustAgree(options: LabOptions, sample: boolean): void {
  const given = (name: Name): boolean => options[name] !== undefined;
  const refuse = (name: Name, because: string): never => {
    throw badOption(flagOf(name), because);
  };
  for (const name of ofNamespaces)
    if (given(name) && options.network === "loopback")
      refuse(name, "goes with namespaces, not with --network loopback");
  if (sample) {
    for (const name of ofOwnServers) if (given(name)) refuse(name, "goes with a server of yours only");
    if (options.protocol !== "http")
      refuse("protocol", "goes with a server of yours: the bundled one speaks http");
  }
  if (given("image") && !given("file"))
    if (options.allow?.some((one) => typeof one === "string"))
      refuse("allow", "keeps files of programs of this machine, not those of an --image");
  if (options.file !== undefined)
    for (const name of ofCommands) if (given(name)) refuse(name, "goes with a command: the manifest says it");
}
