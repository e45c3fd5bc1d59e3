import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { shorten, type WireRecord } from "./wire.ts";

interface Branch {
  properties: Record<string, { const?: unknown }>;
}

const loaded = new Map<string, Promise<Schemas>>();

/** What `rpi schema` says of every record, asked of the binary in hand and checked by a validator that is not ours. */
export class Schemas {
  #ajv = new Ajv2020({ strict: false, validateFormats: false });
  #branches = new Map<string, string>();
  #compiled = new Map<string, ValidateFunction>();

  private constructor(text: string) {
    const schema = JSON.parse(text);
    this.#ajv.addSchema(schema, "rpi");
    for (const side of ["response", "event"]) {
      (schema.$defs[side].anyOf as Branch[]).forEach((branch, n) => this.#branches.set(keyOf(constantsOf(branch)), `rpi#/$defs/${side}/anyOf/${n}`));
    }
  }

  /** Of a binary; asked once. */
  static of(binary: string): Promise<Schemas> {
    let schemas = loaded.get(binary);
    if (!schemas) loaded.set(binary, (schemas = Bun.spawn([binary, "schema"], { stdin: "ignore" }).stdout.text().then((text) => new Schemas(text))));
    return schemas;
  }

  /** The types of all commands. */
  get commands(): string[] {
    const { anyOf } = this.#ajv.getSchema("rpi#/$defs/command")!.schema as { anyOf: object[] };
    return anyOf.map((branch) => /"type":\{"type":"string","const":"(\w+)"/.exec(JSON.stringify(branch))![1]!);
  }

  /** What is wrong with a record that rpi wrote, in words. */
  fault(record: WireRecord): string | undefined {
    const isFailure = record.type === "response" && record["success"] === false;
    const place = isFailure ? "rpi#/$defs/Failure" : this.#branches.get(keyOf(record));
    if (!place) return `no schema for ${keyOf(record)}`;
    return this.#faultAt(place, record);
  }

  /** What is wrong with a record that a client wrote, in words. */
  commandFault(record: object): string | undefined {
    return this.#faultAt("rpi#/$defs/command", record);
  }

  #faultAt(place: string, record: object): string | undefined {
    let validate = this.#compiled.get(place);
    if (!validate) this.#compiled.set(place, (validate = this.#ajv.compile({ $ref: place })));
    if (validate(record)) return undefined;
    return shorten(this.#ajv.errorsText(validate.errors), 500);
  }
}

/** What tells the branches of the schema apart. */
function keyOf({ type, command, method }: Record<string, unknown>): string {
  return [type, type === "response" ? command : undefined, type === "extension_ui_request" ? method : undefined].filter((part) => part !== undefined).join(" ");
}

function constantsOf({ properties }: Branch): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties ?? {}).map(([name, { const: value }]) => [name, value]));
}
