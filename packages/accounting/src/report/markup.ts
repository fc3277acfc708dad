/** Characters that neither XML nor HTML can hold. */
// oxlint-disable-next-line no-control-regex -- these are they
const impossible = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu;

/** Text made safe for content and for attributes in double quotes, in HTML and XML. */
export function escape(text: string): string {
  return text
    .replaceAll(impossible, "\uFFFD")
    .replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** An element; content is markup already, attributes are escaped. Coordinates are rounded to what a screen can show. */
export function element(name: string, attributes: Attributes, ...content: readonly string[]): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) => ` ${key}="${typeof value === "number" ? +value.toFixed(2) : escape(String(value))}"`,
    )
    .join("");
  return content.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${content.join("")}</${name}>`;
}

export function paragraph(text: string, kind = "soft"): string {
  return element("p", { class: kind }, escape(text));
}

/** @param caption and picture are markup already. */
export function figure(caption: string, picture: string): string {
  return element("figure", {}, element("figcaption", {}, caption), pictured(picture));
}

/** Scrolls by itself on a phone, where a picture that fits could not be read. @param picture is markup already. */
export function pictured(picture: string): string {
  return picture && element("div", { class: "picture", tabindex: 0 }, picture);
}

/** Scrolls by itself where it is wider than the page. @param head and rows are markup already. */
export function table(name: string, head: readonly string[], rows: readonly string[], caption = ""): string {
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
    element(
      "table",
      {},
      caption,
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...rows),
    ),
  );
}

/** Hover text; screen readers read it, too. */
export function title(text: string): string {
  return element("title", {}, escape(text));
}

export function label(x: number, y: number, text: string, attributes: Attributes = {}): string {
  return element("text", { x, y, ...attributes }, escape(text));
}

/** How wide a text of 12 px is, roughly: enough to keep labels apart. */
export function widthOf(text: string): number {
  return text.length * 6.6;
}
