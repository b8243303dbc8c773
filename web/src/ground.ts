// Light or dark, as what is behind an element: notebooks have no common way to say it.

/** How light a colour is, from 0 to 1; undefined of one that lets through what is behind it. */
function lightness(colour: string): number | undefined {
  const pen = new OffscreenCanvas(1, 1).getContext("2d")!;
  pen.fillStyle = "rgba(0, 0, 0, 0)";
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
  return alpha! < 128 ? undefined : (0.3 * red! + 0.59 * green! + 0.11 * blue!) / 255;
}

export function isOnDark(of: Element): boolean {
  for (let each: Element | null = of; each; each = each.parentElement ?? (each.getRootNode() as Partial<ShadowRoot>).host ?? null) {
    const light = lightness(getComputedStyle(each).backgroundColor);
    if (light !== undefined) return light < 0.5;
  }
  return (lightness(getComputedStyle(of).color) ?? 0) > 0.5;
}
