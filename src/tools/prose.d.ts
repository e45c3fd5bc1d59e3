/** Prose that stands in a file of its own, imported `with { type: "text" }`. */
declare module "*.md" {
  const text: string;
  export default text;
}
