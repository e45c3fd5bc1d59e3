import { z } from "zod";

const timeout = () => ({ timeout: z.number().optional() });

/** What an extension may ask of the client, by `method` (protocol.md, section 10). */
export const uiMethods: Record<string, () => z.ZodObject> = {
  select: () => z.looseObject({ title: z.string(), options: z.array(z.string()), ...timeout() }),
  confirm: () => z.looseObject({ title: z.string(), message: z.string(), ...timeout() }),
  input: () => z.looseObject({ title: z.string(), placeholder: z.string().optional(), ...timeout() }),
  editor: () => z.looseObject({ title: z.string(), prefill: z.string().optional() }),
  notify: () => z.looseObject({ message: z.string(), notifyType: z.enum(["info", "warning", "error"]).optional() }),
  setStatus: () => z.looseObject({ statusKey: z.string(), statusText: z.string().optional() }),
  setWidget: () => z.looseObject({ widgetKey: z.string(), widgetLines: z.array(z.string()).optional(), widgetPlacement: z.string().optional() }),
  setTitle: () => z.looseObject({ title: z.string() }),
  set_editor_text: () => z.looseObject({ text: z.string() }),
};

/** The client's answer to a dialog. */
export const uiResponse = () => z.looseObject({ value: z.string().optional(), confirmed: z.boolean().optional(), cancelled: z.boolean().optional() });

/** Told when a dialog ends without the client's answer. */
export const uiClosed = () => z.looseObject({ id: z.string(), reason: z.enum(["timeout", "aborted", "session", "eof"]) });
