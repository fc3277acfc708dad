/** Registries that serve what Docker Hub has. */
export const dockerHubs: readonly string[] = [
  "docker.io",
  "index.docker.io",
  "mirror.gcr.io",
  "public.ecr.aws/docker",
];

/** Without tag and digest. */
export function repositoryOf(image: string): string {
  // No regular expression: admission passes unchecked texts of megabytes.
  const [name = ""] = image.split("@", 1);
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") ? name.slice(0, colon) : name;
}

/** The name on Docker Hub, without `library/`; undefined for what is of another registry, also where that mirrors Docker Hub. */
export function hubRepositoryOf(image: string | undefined): string | undefined {
  if (image === undefined) return undefined;
  const hub = dockerHubs.find((one) => image.startsWith(`${one}/`));
  const repository = repositoryOf(image).slice(hub === undefined ? 0 : hub.length + 1);
  const [first = "", ...rest] = repository.split("/");
  if (hub === undefined && rest.length > 0 && /[.:]|^localhost$/.test(first)) return undefined;
  return repository.replace(/^library\//, "");
}

/** Docker Hub's own images, whose entry points must be replaced by the command that they are given. */
const official = new Set(
  "adminer alpine amazoncorretto amazonlinux arangodb archlinux bash buildpack-deps busybox caddy cassandra chronograf clojure consul couchbase couchdb crate debian docker drupal eclipse-mosquitto eclipse-temurin elasticsearch elixir emqx erlang fedora flink fluentd gcc ghost golang gradle groovy haproxy haskell httpd hylang ibmjava influxdb jetty joomla jruby julia kapacitor kibana kong liquibase logstash mariadb matomo maven mediawiki memcached mongo mongo-express monica mysql nats neo4j neos nextcloud nginx node odoo open-liberty openjdk oraclelinux orientdb perl php phpmyadmin postgres pypy python r-base rabbitmq redis redmine registry rethinkdb rockylinux ruby rust sapmachine solr sonarqube spark storm swift teamspeak telegraf tomcat tomee traefik ubuntu unit valkey varnish vault websphere-liberty wordpress xwiki zookeeper".split(
    " ",
  ),
);

export function isOfficialImage(image: string | undefined): boolean {
  return official.has(hubRepositoryOf(image) ?? "");
}
