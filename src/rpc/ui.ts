import type { z as Z } from "zod";
import type { Zod } from "../base/zod.ts";

const timeout = (z: Zod) => ({ timeout: z.number().optional() });

/** What an extension may ask of the client, by `method` (protocol.md, section 10). */
export const uiMethods: Record<string, (z: Zod) => Z.ZodObject> = {
  select: (z) => z.looseObject({ title: z.string(), options: z.array(z.string()), ...timeout(z) }),
  confirm: (z) => z.looseObject({ title: z.string(), message: z.string(), ...timeout(z) }),
  input: (z) => z.looseObject({ title: z.string(), placeholder: z.string().optional(), ...timeout(z) }),
  editor: (z) => z.looseObject({ title: z.string(), prefill: z.string().optional() }),
  notify: (z) => z.looseObject({ message: z.string(), notifyType: z.enum(["info", "warning", "error"]).optional() }),
  setStatus: (z) => z.looseObject({ statusKey: z.string(), statusText: z.string().optional() }),
  setWidget: (z) => z.looseObject({ widgetKey: z.string(), widgetLines: z.array(z.string()).optional(), widgetPlacement: z.string().optional() }),
  setTitle: (z) => z.looseObject({ title: z.string() }),
  set_editor_text: (z) => z.looseObject({ text: z.string() }),
};

/** The client's answer to a dialog. */
export const uiResponse = (z: Zod) => z.looseObject({ value: z.string().optional(), confirmed: z.boolean().optional(), cancelled: z.boolean().optional() });

/** Told when a dialog ends without the client's answer. */
export const uiClosed = (z: Zod) => z.looseObject({ id: z.string(), reason: z.enum(["timeout", "aborted", "session", "eof"]) });
