import { repositoryOf } from "./images.ts";
import { programOf, scriptOf, commandsOf } from "./shell.ts";

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
  /** What in a preStop hook stops or drains it gracefully. */
  readonly hook: RegExp;
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
    hook: /(?:nginx|openresty)\s.*-s\s+quit|kill\s+-(?:s\s+)?(?:SIG)?(?:QUIT|3)\b|lameduck-init.*QUIT/,
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
    hook: /kill\s+-(?:s\s+)?(?:SIG)?(?:USR1|10)\b|lameduck-init.*USR1/,
    reference: "https://docs.haproxy.org/3.2/management.html#4",
  },
  {
    name: "Apache httpd",
    programs: ["httpd", "httpd-foreground", "apache2", "apache2-foreground", "apachectl", "apache2ctl"],
    images: ["httpd"],
    term: "kills its children and cuts their requests",
    graceful: "SIGWINCH",
    stopSignals: { httpd: "SIGWINCH" },
    hook: /(?:apache2ctl|apachectl|httpd|apache2)\s.*graceful-stop|kill\s+-(?:s\s+)?(?:SIG)?(?:WINCH|28)\b|lameduck-init.*WINCH/,
    reference: "https://httpd.apache.org/docs/2.4/stopping.html",
  },
  {
    name: "PostgreSQL",
    programs: ["postgres", "postmaster"],
    images: ["postgres", "postgresql"],
    term: "waits until the last client has disconnected by itself (smart shutdown), so that it often meets SIGKILL",
    graceful: "SIGINT",
    stopSignals: { postgres: "SIGINT" },
    hook: /pg_ctl\s.*stop|kill\s+-(?:s\s+)?(?:SIG)?(?:INT|2)\b|lameduck-init.*INT/,
    reference: "https://www.postgresql.org/docs/current/server-shutdown.html",
  },
  {
    name: "PHP-FPM",
    programs: ["php-fpm", "php-fpm8", "php-fpm81", "php-fpm82", "php-fpm83", "php-fpm84"],
    images: ["php-fpm"],
    term: "ends its workers at once and cuts their requests",
    graceful: "SIGQUIT",
    hook: /kill\s+-(?:s\s+)?(?:SIG)?(?:QUIT|3)\b|lameduck-init.*QUIT/,
    reference: "https://linux.die.net/man/8/php-fpm",
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
    hook: /kill\s+-(?:s\s+)?(?:SIG)?(?:QUIT|3)\b|lameduck-init.*QUIT/,
    reference: "https://yhbt.net/unicorn/SIGNALS.html",
  },
  {
    name: "lighttpd",
    programs: ["lighttpd"],
    images: ["lighttpd"],
    term: "ends at once and cuts all connections",
    graceful: "SIGINT",
    hook: /kill\s+-(?:s\s+)?(?:SIG)?(?:INT|2)\b|lameduck-init.*INT/,
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
  image: string | undefined,
): Software | undefined {
  if (isWhole) {
    const program = programOf(servingProgram(argv));
    const found = softwares.find(({ programs }) => programs.includes(program));
    // With a command in the manifest, the image's own program does not run.
    return found ?? (/entrypoint/.test(program) ? ofImage(image) : undefined);
  }
  return ofImage(image);
}

function ofImage(image: string | undefined): Software | undefined {
  if (image === undefined) return undefined;
  const last = repositoryOf(image).split("/").at(-1);
  return softwares.find(({ images }) => images.some((one) => one === last)) ?? fpm(image);
}

/** Only some tags of the image `php` are PHP-FPM. */
function fpm(image: string): Software | undefined {
  return /(?:^|\/)php:[^/]*fpm/.test(image) ? softwares.find(({ name }) => name === "PHP-FPM") : undefined;
}

/** Registries that serve what Docker Hub has. */
export const dockerHubs: readonly string[] = [
  "docker.io",
  "index.docker.io",
  "mirror.gcr.io",
  "public.ecr.aws/docker",
];

/** What STOPSIGNAL the image is known to set; undefined where that is not known. */
export function stopSignalOfImage(
  { stopSignals = {}, name }: Software,
  image: string | undefined,
): string | undefined {
  if (image === undefined) return undefined;
  const hub = dockerHubs.find((one) => image.startsWith(`${one}/`));
  const repository = repositoryOf(image)
    .slice(hub === undefined ? 0 : hub.length + 1)
    .replace(/^library\//, "");
  return name === "PHP-FPM" && repository === "php" ? "SIGQUIT" : stopSignals[repository];
}

/** Behind an init, an `env`, or a shell whose last command it is. */
export function servingProgram(argv: readonly string[]): string | undefined {
  const script = scriptOf(argv);
  if (script !== undefined) {
    const last = commandsOf(script).commands.at(-1) ?? "";
    const words = last.replace(/^exec\s+/, "").split(/\s+/);
    return words.find((word) => !/^\w+=/.test(word));
  }
  const [first] = argv;
  if (["tini", "dumb-init", "catatonit", "lameduck-init", "env"].includes(programOf(first))) {
    const rest = argv.slice(1);
    const end = rest.indexOf("--");
    return end === -1 ? rest.find((word) => !word.startsWith("-") && !/^\w+=/.test(word)) : rest[end + 1];
  }
  return first;
}
