import { badOption } from "../errors.ts";
import { flagOf } from "../options.ts";
import { requestFlags } from "../request-options.ts";
import type { LabOptions } from "./options.ts";

type Name = keyof LabOptions;

/** Pairs of options of which only one would count. */
const exclusive: readonly (readonly [Name, Name])[] = [
  ["policy", "remedies"],
  ["compare", "remedies"],
  ["compare", "policy"],
];

/** What does nothing without the other. */
const incomplete: readonly (readonly [Name, Name])[] = [
  ["slow", "slowPath"],
  ["large", "largePath"],
];

/** What the manifest says instead. */
const ofCommands: readonly Name[] = ["port", "readyPath"];

/** The bundled server has paths of its own, and its answers are checked. */
const ofOwnServers: readonly Name[] = ["path", "slowPath", "largePath", "readyPath", ...requestFlags];

/** What has no meaning where pods share this machine's network and files. */
const ofNamespaces: readonly Name[] = ["allow", "writable"];

/** @throws CliError LAMEDUCK_BAD_OPTION where one option makes another one mean nothing. */
export function mustAgree(options: LabOptions, sample: boolean): void {
  const given = (name: Name): boolean => options[name] !== undefined;
  const refuse = (name: Name, because: string): never => {
    throw badOption(flagOf(name), because);
  };
  for (const [one, other] of exclusive)
    if (given(one) && given(other)) refuse(one, `cannot be given with ${flagOf(other)}`);
  for (const name of ofNamespaces)
    if (given(name) && options.network === "loopback")
      refuse(name, "goes with namespaces, not with --network loopback");
  if (sample) {
    for (const name of ofOwnServers) if (given(name)) refuse(name, "goes with a server of yours only");
    if (options.protocol !== "http")
      refuse("protocol", "goes with a server of yours: the bundled one speaks http");
  } else
    for (const [name, wanted] of incomplete)
      if (given(name) && !given(wanted)) refuse(name, `goes with ${flagOf(wanted)} only`);
  if (options.file !== undefined)
    for (const name of ofCommands) if (given(name)) refuse(name, "goes with a command: the manifest says it");
}
