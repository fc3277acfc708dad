import { hubRepositoryOf, repositoryOf } from "./image-name.ts";
import { stopSignalOfImage } from "./software.ts";

/** What an image gives to those that are built on it. */
interface BaseFacts {
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly stopSignal?: string;
  /** Whether the image may set a stop signal that is not known here. */
  readonly isUnknown: boolean;
}

/** Images of systems and languages, and servers that stop at SIGTERM: their Dockerfiles have no STOPSIGNAL. */
const without = new Set(
  "scratch alpine busybox debian ubuntu fedora centos rockylinux almalinux amazonlinux oraclelinux photon archlinux buildpack-deps node python golang ruby rust openjdk eclipse-temurin amazoncorretto ibmjava gcc perl erlang elixir haskell julia swift maven gradle tomcat jetty redis valkey memcached mysql mariadb mongo rabbitmq traefik caddy denoland/deno oven/bun".split(
    " ",
  ),
);
const withoutElsewhere =
  /^(?:gcr\.io\/distroless\/|mcr\.microsoft\.com\/dotnet\/|registry\.access\.redhat\.com\/ubi\d+(?:\/ubi[\w-]*)?$)/;

/** ENTRYPOINT and CMD of images that programs are often put into. */
const commands: Readonly<Record<string, Pick<BaseFacts, "entrypoint" | "cmd"> | undefined>> = {
  nginx: { entrypoint: ["/docker-entrypoint.sh"], cmd: ["nginx", "-g", "daemon off;"] },
  "nginxinc/nginx-unprivileged": {
    entrypoint: ["/docker-entrypoint.sh"],
    cmd: ["nginx", "-g", "daemon off;"],
  },
  "openresty/openresty": { cmd: ["openresty", "-g", "daemon off;"] },
  httpd: { cmd: ["httpd-foreground"] },
  haproxy: {
    entrypoint: ["docker-entrypoint.sh"],
    cmd: ["haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"],
  },
  postgres: { entrypoint: ["docker-entrypoint.sh"], cmd: ["postgres"] },
  redis: { entrypoint: ["docker-entrypoint.sh"], cmd: ["redis-server"] },
  node: { entrypoint: ["docker-entrypoint.sh"], cmd: ["node"] },
  python: { cmd: ["python3"] },
};

/** @param base as FROM names it, with what is not known of it as "\0". */
export function baseFactsOf(base: string): BaseFacts {
  const repository = hubRepositoryOf(base) ?? "";
  const stopSignal = stopSignalOfImage(base);
  const isKnown =
    stopSignal !== undefined ||
    without.has(repository) ||
    (repository === "php" && /:[^/\0]*(?:cli|zts|embed|[\d.]+$)/.test(base)) ||
    withoutElsewhere.test(repositoryOf(base));
  const php = ["docker-php-entrypoint"];
  const command = Object.hasOwn(commands, repository)
    ? commands[repository]
    : repository === "php" && stopSignal !== undefined
      ? { entrypoint: php, cmd: [stopSignal === "SIGQUIT" ? "php-fpm" : "apache2-foreground"] }
      : {};
  return { ...command, ...(stopSignal === undefined ? {} : { stopSignal }), isUnknown: !isKnown };
}
