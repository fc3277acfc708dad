import {
  appendItems,
  exchangeField,
  insertField,
  insertFields,
  replaceScalar,
  scalar,
  type Edit,
  type Field,
  type Written,
} from "@lameduck/manifests";
import type { ContainerPlan, Plan } from "../plan.ts";

/**
 * The plan as edits of the file that the pod template stands in: comments and layout stay.
 * @returns undefined where an anchor, an alias or a value of another kind is in the way: all of it is done, or nothing.
 */
export function editsOf(plan: Plan, template: Field, text: string): readonly Edit[] | undefined {
  const pod = template.at("spec");
  const containers = pod.at("containers").items();
  const edits = [
    ...plan.containers.flatMap((one) => ofContainer(one, containers[one.index]!, text)),
    ...added(text, pod, "volumes", plan.volumes),
    ...added(text, pod, "initContainers", plan.initContainers),
    ...(plan.grace === undefined
      ? []
      : [put(text, pod, "terminationGracePeriodSeconds", scalar(plan.grace))]),
    ...ofAnnotations(text, template, plan.annotations),
  ];
  const whole = edits.filter((edit) => edit !== undefined);
  return whole.length === edits.length ? whole : undefined;
}

type Edits = (Edit | undefined)[];

function ofContainer(
  { changed, env, mounts, preStop, replaces }: ContainerPlan,
  container: Field,
  text: string,
): Edits {
  const lifecycle = container.at("lifecycle");
  const [former] = replaces ? lifecycle.at("preStop").entries() : [];
  const variable = changed && container.at("env").items()[changed.at];
  return [
    ...(variable ? [put(text, variable, "value", scalar(changed.value))] : []),
    ...added(text, container, "env", env),
    ...added(text, container, "volumeMounts", mounts),
    ...(preStop === undefined
      ? []
      : [
          former !== undefined
            ? exchangeField(text, lifecycle.at("preStop").at(former[0]), fieldsOf(preStop))
            : lifecycle.exists
              ? insertField(text, lifecycle, "preStop", written(preStop))
              : insertField(text, container, "lifecycle", { preStop: written(preStop) }),
        ]),
  ];
}

function ofAnnotations(text: string, template: Field, annotations: Plan["annotations"]): Edits {
  const metadata = template.at("metadata");
  const all = metadata.at("annotations");
  if (!metadata.exists)
    return [insertField(text, template, "metadata", { annotations: written(annotations) })];
  if (!all.exists) return [insertField(text, metadata, "annotations", written(annotations))];
  if (all.entries().length === 0) return [insertFields(text, all, fieldsOf(annotations))];
  return Object.entries(annotations).map(([key, value]) => put(text, all, key, JSON.stringify(value)));
}

/** Another value, or a new field. */
function put(text: string, parent: Field, key: string, value: string): Edit | undefined {
  const field = parent.at(key);
  return field.exists ? replaceScalar(field, value) : insertField(text, parent, key, value);
}

function added(text: string, parent: Field, key: string, values: readonly unknown[]): Edits {
  if (values.length === 0) return [];
  const list = parent.at(key);
  const items = values.map((one) => written(one));
  return [list.exists ? appendItems(text, list, items) : insertField(text, parent, key, items)];
}

function written(value: unknown): Written {
  if (Array.isArray(value)) return value.map((one) => written(one));
  if (typeof value === "object" && value !== null) return fieldsOf(value);
  return scalar(value as string | number | boolean);
}

function fieldsOf(value: object): { readonly [key: string]: Written } {
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, written(one)]));
}
