import { settingFields, settingNames } from "./fields.ts";
import { annotationOf, isMap } from "./validate.ts";

/** What is said of settings on a workload itself, which reach no pod. @param own annotations of the workload. @param template those of its pods. */
export function misplacedSettings(own: unknown, template: unknown): string[] {
  if (!isMap(own)) return [];
  return settingNames
    .filter((name) => settingFields[name].annotation !== undefined)
    .map(annotationOf)
    .filter((key) => key in own && !(isMap(template) && key in template))
    .map((key) => `${key} is read from spec.template.metadata.annotations only: move it there`);
}
