import { z } from "zod";
import { commands } from "./commands.ts";
import { events, type Event } from "./events.ts";
import { once } from "./shapes.ts";
import { uiClosed, uiMethods } from "./ui.ts";

const failure = once(() => z.looseObject({
  id: z.union([z.string(), z.number()]).optional(), type: z.literal("response"), command: z.string(), success: z.literal(false), error: z.string(),
  code: z.enum(["parse", "unknown_command", "invalid", "not_found", "busy", "unavailable", "cancelled", "internal"]),
}).meta({ id: "Failure" }));

const union = (of: z.ZodType[]) => z.union(of as [z.ZodType, ...z.ZodType[]]);

/** What a client may write. */
const commandSchema = once(() => union([
  ...Object.entries(commands).map(([type, { params, summary }]) => {
    const fields = params?.(z);
    const head = z.looseObject({ type: z.literal(type), id: z.union([z.string(), z.number()]).optional() }).describe(summary);
    return fields ? z.intersection(head, fields) : head;
  }),
]));

/** What answers a command. */
const responseSchema = once(() => union([
  ...Object.entries(commands).map(([type, { data }]) => z.looseObject({
    id: z.union([z.string(), z.number()]).optional(), type: z.literal("response"), command: z.literal(type), success: z.literal(true), data: data(z),
  })),
  failure(z),
]));

/** What rpi tells by itself. */
const eventSchema = once(() => {
  const record = (type: string, { summary, fields }: Event, more: z.ZodRawShape = {}) => z.looseObject({ type: z.literal(type), ...more, ...fields?.(z) }).describe(summary);
  return union([
    ...Object.entries(events).map(([type, event]) => record(type, event)),
    ...Object.entries(uiMethods).map(([method, event]) => record("extension_ui_request", event, { id: z.string(), method: z.literal(method) })),
    record("extension_ui_closed", uiClosed),
  ]);
});

interface JsonSchema {
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  type?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

/** Lets null stand in the place of every field that may be left out, as the dispatcher does. */
function allowNull(schema: JsonSchema): void {
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) allowNull(part);
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (schema.required?.includes(name)) continue;
    const { description, ...shape } = field;
    schema.properties![name] = { ...(description === undefined ? {} : { description }), anyOf: [shape, { type: "null" }] };
  }
}

/** JSON Schema has no format for base64, and validators stop at one that they do not know; `contentEncoding` says the same. */
function withoutFormat({ jsonSchema }: { jsonSchema: { format?: string } }): void {
  if (jsonSchema.format === "base64") delete jsonSchema.format;
}

/** The JSON Schema (2020-12) of every record, as JSON text. */
export function schemaText(): string {
  const whole = z.object({ command: commandSchema(z), response: responseSchema(z), event: eventSchema(z) });
  const schema = z.toJSONSchema(whole, { target: "draft-2020-12", unrepresentable: "any", io: "input", override: withoutFormat });
  const { properties, $defs, ...head } = schema as { properties: Record<"command" | "response" | "event", JsonSchema>; $defs?: Record<string, unknown>; $schema?: string };
  allowNull(properties.command);
  return `${JSON.stringify({
    $schema: head.$schema,
    title: "rpi wire protocol",
    description: "One JSON object a line: commands go in on stdin; responses and events come out on stdout.",
    anyOf: Object.keys(properties).map((name) => ({ $ref: `#/$defs/${name}` })),
    $defs: { ...$defs, ...properties },
  }, null, 2)}\n`;
}
