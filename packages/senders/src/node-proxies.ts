import type { SenderKind, Recognised, SeenPod } from "./kind.ts";
import { asProxies, containerOf, everyService, isOn, valuesAt, wordsOf } from "./recognising.ts";

function ofNode(
  name: string,
  who: string,
  source: string,
  knownBy: string,
  isOne: (pod: SeenPod) => boolean,
  more: Pick<Recognised, "objects"> = {},
): Recognised {
  return {
    need: `node-proxy/${name}`,
    who,
    converges: asProxies,
    knownBy,
    source,
    ofPod: (pod) => (isOne(pod) ? "its node" : undefined),
    ...more,
  };
}

/** What network plug-ins run on nodes in place of kube-proxy, or beside it. */
export const nodeProxies = {
  name: "node-proxies",
  recognised: [
    ofNode(
      "calico",
      "Calico in eBPF mode",
      "projectcalico/calico: api/pkg/apis/projectcalico/v3/felixconfig.go, charts/calico/templates/calico-node.yaml",
      "a pod with a container `calico-node` and `FELIX_BPFENABLED`",
      (pod) =>
        containerOf(pod, "calico-node")?.env?.some(
          ({ name, value }) => name === "FELIX_BPFENABLED" && isOn(value?.toLowerCase()),
        ) === true,
      {
        objects: ["crd.projectcalico.org", "projectcalico.org"].map((group) => ({
          group,
          versions: group.startsWith("crd") ? ["v1"] : ["v3"],
          kind: "FelixConfiguration",
          plural: "felixconfigurations",
          read: ({ spec }) => ({
            services: valuesAt(spec, "bpfEnabled").includes(true) ? [everyService] : [],
          }),
        })),
      },
    ),
    ofNode(
      "antrea",
      "Antrea's proxy",
      "antrea-io/antrea: build/yamls/antrea.yml",
      "a pod with a container `antrea-agent`",
      (pod) => containerOf(pod, "antrea-agent") !== undefined,
    ),
    ofNode(
      "kube-router",
      "kube-router's proxy of Services",
      "cloudnativelabs/kube-router: pkg/options/options.go, daemonset",
      "a pod with a container or an image `kube-router`, without `--run-service-proxy=false`",
      ({ containers }) =>
        containers.some(
          (one) =>
            (one.name === "kube-router" || /\/kube-router(?:[:@]|$)/.test(one.image ?? "")) &&
            !wordsOf(one).includes("--run-service-proxy=false"),
        ),
    ),
    ofNode(
      "ovn",
      "OVN-Kubernetes or Kube-OVN",
      "ovn-kubernetes/ovn-kubernetes: dist/templates/ovnkube-node.yaml.j2; kubeovn/kube-ovn: dist/images/install.sh",
      "a pod with a container `ovnkube-node` or `ovnkube-controller`, or the label `app: kube-ovn-cni`",
      ({ labels, containers }) =>
        labels["app"] === "kube-ovn-cni" ||
        containers.some(({ name }) => /^ovnkube-(?:node|controller)/.test(name)),
    ),
    ofNode(
      "kpng",
      "a proxy of kpng",
      "kubernetes-retired/kpng: hack/kpng-deployment-ds-template.txt",
      "a pod with a container `kpng`",
      ({ containers }) => containers.some(({ name }) => /^kpng(?:-|$)/.test(name)),
    ),
  ],
} as const satisfies SenderKind;
