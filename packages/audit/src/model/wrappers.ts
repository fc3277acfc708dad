import { programOf } from "./shell/commands.ts";

/** A program that runs another one, which its arguments name. */
interface Wrapper {
  /** `replaced` by the program; `group`: signals the program and all it started; `child`: signals the program only. */
  readonly how: "replaced" | "group" | "child";
  /** Options that take the next word. */
  readonly takes?: RegExp;
  /** Words before the program that are no options, such as a user. */
  readonly skips?: number;
  /** The program stands behind `--` if there is one. */
  readonly isBehindDashes?: boolean;
  /** The word that must come first, as in `doppler run`. */
  readonly verb?: RegExp;
}

const replaced: Wrapper = { how: "replaced" };
const user: Wrapper = { how: "replaced", skips: 1 };
const child: Wrapper = { how: "child" };

/** By name, as their documentation or source says. */
const wrappers: Readonly<Record<string, Wrapper | undefined>> = {
  env: { how: "replaced", takes: /^(?:-u|-C|--unset|--chdir)$/ },
  nice: { how: "replaced", takes: /^(?:-n|--adjustment)$/ },
  ionice: { how: "replaced", takes: /^(?:-c|-n|--class|--classdata)$/ },
  chrt: user,
  taskset: user,
  numactl: { how: "replaced", takes: /^-[NCmip]$/ },
  nohup: replaced,
  stdbuf: { how: "replaced", takes: /^(?:-[ioe]|--(?:input|output|error))$/ },
  setpriv: {
    how: "replaced",
    takes:
      /^--(?:(?:re|r|e)[ug]id|groups|inh-caps|ambient-caps|bounding-set|securebits|pdeathsig|selinux-label|apparmor-profile)$/,
  },
  chroot: user,
  gosu: user,
  "su-exec": user,
  setuidgid: user,
  "s6-setuidgid": user,
  envuidgid: user,
  envdir: user,
  "s6-envdir": user,
  "with-contenv": replaced,
  chpst: { how: "replaced", takes: /^-[uUbe/nmdofpcrt]$/ },
  softlimit: { how: "replaced", takes: /^-[macdfloprst]$/ },
  bundle: { how: "replaced", verb: /^exec$/ },
  poetry: { how: "replaced", verb: /^run$/ },
  pipenv: { how: "replaced", verb: /^run$/ },
  "ddtrace-run": replaced,
  "opentelemetry-instrument": { how: "replaced", takes: /^--/ },
  "newrelic-admin": { how: "replaced", verb: /^run-program$/ },
  "vault-env": replaced,
  chamber: { how: "replaced", verb: /^exec$/, isBehindDashes: true },
  "dumb-init": { how: "group", takes: /^(?:-r|--rewrite)$/ },
  timeout: { how: "group", takes: /^(?:-[ks]|--(?:kill-after|signal))$/, skips: 1 },
  tini: { how: "child", takes: /^-[pe]$/ },
  "tini-static": { how: "child", takes: /^-[pe]$/ },
  "docker-init": { how: "child", takes: /^-[pe]$/ },
  catatonit: child,
  "lameduck-init": { how: "child", isBehindDashes: true },
  doppler: { how: "child", verb: /^run$/, isBehindDashes: true },
  infisical: { how: "child", verb: /^run$/, isBehindDashes: true },
  op: { how: "child", verb: /^run$/, isBehindDashes: true },
  berglas: { how: "child", verb: /^exec$/, isBehindDashes: true },
  dotenvx: { how: "child", verb: /^run$/, isBehindDashes: true },
  dotenv: { how: "child", isBehindDashes: true },
  "cross-env": child,
  uv: {
    how: "child",
    verb: /^run$/,
    takes: /^(?:-p|--(?:python|with|project|directory|extra|group|env-file))$/,
  },
  sudo: { how: "child", takes: /^(?:-[ugprhCDRTU]|--(?:user|group|prompt|role|host))$/ },
};

/** What a wrapper runs. */
interface Wrapped {
  readonly by: string;
  readonly how: Wrapper["how"];
  /** Empty where the arguments name no program. */
  readonly argv: readonly string[];
}

/** @returns undefined where the first word is no wrapper. */
export function wrappedBy(argv: readonly string[]): Wrapped | undefined {
  const program = programOf(argv[0]);
  const wrapper = Object.hasOwn(wrappers, program) ? wrappers[program] : undefined;
  if (wrapper === undefined) return undefined;
  const { takes, skips = 0, isBehindDashes = false, verb } = wrapper;
  const words = argv.slice(1);
  if (verb !== undefined && !verb.test(words.shift() ?? "")) return undefined;
  const dashes = words.indexOf("--");
  const result = (at: number): Wrapped => {
    const how = howOf(program, wrapper, words.slice(0, at));
    return { by: program, how, argv: words.slice(at) };
  };
  if (isBehindDashes && dashes !== -1) return result(dashes + 1);
  let skipped = 0;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]!;
    if (word === "--") return result(at + 1 + skips - skipped);
    if (program === "env" && /^(?:-S|--split-string\b)/.test(word)) {
      const inline = word.replace(/^(?:-S|--split-string=?)/, "");
      const [first = "", ...rest] = [...(inline === "" ? [] : [inline]), ...words.slice(at + 1)];
      const argv = [...first.split(/\s+/), ...rest].filter((one) => one !== "");
      return { by: program, how: wrapper.how, argv };
    }
    if (takes?.test(word)) at += word.includes("=") ? 0 : 1;
    else if (
      word.startsWith("-") ||
      ((program === "env" || program === "cross-env" || program === "sudo") && /^\w+=/.test(word))
    )
      continue;
    else if (skipped < skips) skipped += 1;
    else return result(at);
  }
  return result(words.length);
}

function howOf(program: string, { how }: Wrapper, options: readonly string[]): Wrapper["how"] {
  if (program === "dumb-init" && options.some((one) => /^(?:-c|--single-child)$/.test(one))) return "child";
  const signalsGroup =
    /^(?:tini|tini-static|docker-init|catatonit)$/.test(program) &&
    options.some((one) => /^-[a-z]*g/.test(one));
  return signalsGroup ? "group" : how;
}
