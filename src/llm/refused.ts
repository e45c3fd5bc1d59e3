/** What a server refused of a request that another would have taken; without it the request can be made again. */
export type Refused = "images" | "roles_in_a_row";

const IMAGES = /\bimages?\b|image_url|input_image|\w_image\b|\bimage_|multi-?modal|\bvision\b|mmproj/i;
/** A server that fails by itself may speak of images, too: only these words blame them. */
const NO_IMAGES = /image (?:input|data)|mmproj|process (?:the |your |this )?(?:input )?image|multi-?modal/i;
const ROLES = /roles? must alternate|alternat\w+ (?:between )?(?:the )?(?:user|roles)|(?:consecutive|successive|multiple) (?:messages? (?:with|of|from) the same role|user (?:messages|roles|turns))|same role twice/i;

/** By the words of a failure that is no overflow and no matter of keys or money. */
export function refusedBy(status: number | undefined, text: string): Refused | undefined {
  if (ROLES.test(text)) return "roles_in_a_row";
  return (status !== undefined && status >= 500 ? NO_IMAGES : IMAGES).test(text) ? "images" : undefined;
}
