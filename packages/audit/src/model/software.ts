import type { Hook } from "./handler.ts";
import { hubRepositoryOf, repositoryOf } from "./image-name.ts";
import { servedBy } from "./pid-one.ts";
import type { Surroundings } from "./served.ts";
import { programOf } from "./shell/commands.ts";

/** A program for which SIGTERM is no graceful stop, or which has one of its own. */
export interface Software {
  readonly name: string;
  /** Names of the program: argv[0], without its folder. */
  readonly programs: readonly string[];
  /** Names of images, without registry, tag and digest; the last part is enough. */
  readonly images: readonly string[];
  /** What SIGTERM does to it. */
  readonly term: string;
  /** What SIGTERM does to it as PID 1, unless an argument says otherwise: a signal without a handler does nothing to PID 1. */
  readonly asPidOne?: { readonly term: string; readonly unless: RegExp };
  /** The signal that stops it gracefully; undefined where none does. */
  readonly graceful?: string;
  /** STOPSIGNAL of images that set it: the image's name, and the signal. */
  readonly stopSignals?: Readonly<Record<string, string>>;
  /** Arguments or variables that make SIGTERM a graceful stop. */
  readonly remapped?: RegExp;
  /** What in a preStop hook stops or drains it gracefully, beside a command that sends that signal. */
  readonly hook?: RegExp;
  /** What in a preStop hook stops it as SIGTERM does. */
  readonly abrupt?: RegExp;
  /** Without this in a file of its own its graceful stop cuts requests, too. */
  readonly setting?: { readonly line: string; readonly isIn: RegExp };
  /** What to do where no signal helps. */
  readonly instead?: string;
  readonly reference: string;
}

export const softwares: readonly Software[] = [
  {
    name: "nginx",
    programs: ["nginx", "openresty"],
    images: ["nginx", "nginx-unprivileged", "openresty"],
    term: "closes all connections at once (fast shutdown)",
    graceful: "SIGQUIT",
    stopSignals: {
      nginx: "SIGQUIT",
      "nginxinc/nginx-unprivileged": "SIGQUIT",
      "openresty/openresty": "SIGQUIT",
    },
    hook: /(?:nginx|openresty)\s.*-s\s*quit/,
    abrupt: /(?:nginx|openresty)\s.*-s\s*stop/,
    reference: "https://nginx.org/en/docs/control.html",
  },
  {
    name: "HAProxy",
    programs: ["haproxy"],
    images: ["haproxy", "haproxy-alpine"],
    term: "ends at once and cuts all connections (hard stop)",
    asPidOne: {
      // Measured with 2.6.
      term: "does nothing as PID 1 without -W, and SIGKILL cuts all connections at the end of the grace period",
      unless: /^-Ws?$/,
    },
    graceful: "SIGUSR1",
    stopSignals: { haproxy: "SIGUSR1" },
    reference: "https://docs.haproxy.org/3.2/management.html#4",
  },
  {
    name: "Apache httpd",
    programs: ["httpd", "httpd-foreground", "apache2", "apache2-foreground", "apachectl", "apache2ctl"],
    images: ["httpd"],
    term: "kills its children and cuts their requests",
    graceful: "SIGWINCH",
    stopSignals: { httpd: "SIGWINCH" },
    hook: /(?:apache2ctl|apachectl|httpd|apache2)\s.*graceful-stop/,
    abrupt: /(?:apache2ctl|apachectl|httpd|apache2)\s+(?:.*\s)?stop/,
    reference: "https://httpd.apache.org/docs/2.4/stopping.html",
  },
  {
    name: "PostgreSQL",
    programs: ["postgres", "postmaster"],
    images: ["postgres", "postgresql"],
    term: "waits until the last client has disconnected by itself (smart shutdown), so that it often meets SIGKILL",
    graceful: "SIGINT",
    stopSignals: { postgres: "SIGINT" },
    hook: /pg_ctl\s.*stop/,
    reference: "https://www.postgresql.org/docs/current/server-shutdown.html",
  },
  {
    name: "PHP-FPM",
    programs: ["php-fpm", "php-fpm8", "php-fpm81", "php-fpm82", "php-fpm83", "php-fpm84"],
    images: ["php-fpm"],
    term: "ends its workers at once and cuts their requests",
    graceful: "SIGQUIT",
    // Measured with 8.2: the default, 0, leaves workers no time.
    setting: { line: "process_control_timeout = 30s", isIn: /process_control_timeout\s*=\s*[1-9]/ },
    reference: "https://www.php.net/manual/en/install.fpm.configuration.php",
  },
  {
    name: "uWSGI",
    programs: ["uwsgi"],
    images: ["uwsgi"],
    term: "reloads the workers brutally instead of stopping (without die-on-term)",
    remapped:
      /die-on-term|DIE_ON_TERM|hook-master-start|HOOK_MASTER_START|--(?:ini|yaml|xml|json|emperor)\b|UWSGI_INI|\.ini\b/,
    hook: /uwsgi\s.*--stop|gracefully_kill|quit\b/i,
    instead:
      "add --die-on-term, or for a stop that waits for requests: hook-master-start = unix_signal:15 gracefully_kill_them_all",
    reference: "https://uwsgi-docs.readthedocs.io/en/latest/Management.html",
  },
  {
    name: "Unicorn",
    programs: ["unicorn", "unicorn_rails"],
    images: ["unicorn"],
    term: "kills the workers at once (quick shutdown)",
    graceful: "SIGQUIT",
    reference: "https://yhbt.net/unicorn/SIGNALS.html",
  },
  {
    name: "lighttpd",
    programs: ["lighttpd"],
    images: ["lighttpd"],
    term: "ends at once and cuts all connections",
    graceful: "SIGINT",
    reference: "https://redmine.lighttpd.net/projects/lighttpd/wiki",
  },
  {
    name: "Envoy",
    programs: ["envoy"],
    images: ["envoy", "envoy-distroless"],
    term: "closes its listeners at once, without a drain",
    hook: /drain_listeners|healthcheck\/fail|shutdown-manager|\/shutdown\b|prestop/i,
    instead:
      "drain in a preStop hook: POST /drain_listeners?graceful (or /healthcheck/fail) to the admin port, and wait for --drain-time-s",
    reference: "https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/operations/draining",
  },
];

/** @param isWhole whether `argv` begins with the program, or holds only its arguments. */
export function softwareOf(
  argv: readonly string[],
  isWhole: boolean,
  around: Surroundings,
): Software | undefined {
  if (!isWhole) return softwareOfImage(around.image);
  const program = programOf(servedBy(argv, around).argv[0]);
  const found = softwares.find(({ programs }) => programs.includes(program));
  // With a command in the manifest, the image's own program does not run.
  const isEntryPoint = /entrypoint/.test(programOf(argv[0]));
  return found ?? (isEntryPoint ? softwareOfImage(around.image) : undefined);
}

/** Whether a hook begins the graceful stop. Nobody here knows what an HTTP hook does: it counts as one. */
export function stopsGracefully(
  { graceful, hook: own }: Software,
  hook: Hook,
  isPidShared: boolean,
): boolean {
  if (hook.kind !== "exec") return hook.kind !== "sleep";
  const text = hook.text;
  if (own?.test(text)) return true;
  if (graceful === undefined) return false;
  const isInit = text.includes("lameduck-init") && text.includes(graceful.replace("SIG", ""));
  return isInit || hook.signals.some((sent) => sent.signal === graceful && !(sent.isPidOne && isPidShared));
}

/** Whether a hook that does not stop it gracefully stops it as SIGTERM does. */
export function stopsAtOnce(
  { graceful, abrupt, programs }: Software,
  hook: Hook,
  isPidShared: boolean,
): boolean {
  if (hook.kind !== "exec" || graceful === undefined) return false;
  const text = hook.text;
  if (abrupt?.test(text) === true) return true;
  const isNamed = programs.some((name) => new RegExp(`(?:pkill|killall)\\s.*\\b${name}\\b`).test(text));
  return hook.signals.some(
    ({ signal, isPidOne }) =>
      signal === "SIGTERM" && graceful !== signal && (isPidOne ? !isPidShared : isNamed),
  );
}

/** The name of the server that a command line starts; of `python -m NAME` it is NAME. */
export function serverOf([first, ...rest]: readonly string[]): string {
  const program = programOf(first);
  if (!/^python[\d.]*$/.test(program)) return program;
  const at = rest.indexOf("-m");
  return at === -1 ? program : (rest[at + 1] ?? program);
}

/** What an image is known to run by itself. */
export function softwareOfImage(image: string | undefined): Software | undefined {
  if (image === undefined) return undefined;
  const last = repositoryOf(image).split("/").at(-1);
  return softwares.find(({ images }) => images.some((one) => one === last)) ?? fpm(image);
}

/** Only some tags of the image `php` are PHP-FPM. */
function fpm(image: string): Software | undefined {
  return /(?:^|\/)php:[^/]*fpm/.test(image) ? softwares.find(({ name }) => name === "PHP-FPM") : undefined;
}

/** What STOPSIGNAL the image is known to set; undefined where that is not known. */
export function stopSignalOfImage(image: string | undefined): string | undefined {
  const repository = hubRepositoryOf(image);
  if (repository === undefined) return undefined;
  const byTag = taggedStopSignals[repository]?.find(([tag]) => tag.test(image!));
  return byTag ? byTag[1] : (stopSignals.get(repository) ?? moreStopSignals[repository]);
}

const stopSignals = new Map(softwares.flatMap((one) => Object.entries(one.stopSignals ?? {})));

/** Of images that are built on these, or hold them; as their Dockerfiles say. */
const moreStopSignals: Readonly<Record<string, string | undefined>> = {
  "postgis/postgis": "SIGINT",
  "pgvector/pgvector": "SIGINT",
  "timescale/timescaledb": "SIGINT",
};

/** The variants of PHP's image, and of those that are built on it. */
const php: readonly (readonly [tag: RegExp, signal: string])[] = [
  [/:[^/]*fpm/, "SIGQUIT"],
  [/:[^/]*apache/, "SIGWINCH"],
];
const phpOrApache: typeof php = [...php, [/^(?!.*:[^/]*cli)/, "SIGWINCH"]];
const taggedStopSignals: Readonly<Record<string, typeof php | undefined>> = {
  php,
  wordpress: phpOrApache,
  nextcloud: phpOrApache,
  drupal: phpOrApache,
  joomla: phpOrApache,
  matomo: phpOrApache,
  phpmyadmin: phpOrApache,
};
