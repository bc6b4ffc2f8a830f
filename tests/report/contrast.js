// Text that is hard to tell from its ground: less than 4.5 to 1, as WCAG counts.
(() => {
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((value) => linear(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const parts = (text) => text.match(/[\d.]+/g).map(Number);
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = parts(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour.slice(0, 3);
    }
    throw new Error("a page without a ground");
  };
  const has_text = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const dimmed = (element) => element.closest(".moment.gone") && !element.closest(".branch");
  const poor = new Map();
  for (const element of document.querySelectorAll("body *")) {
    // What was left behind within a step that was not is dimmed on purpose.
    if (!has_text(element) || !element.checkVisibility() || dimmed(element)) continue;
    const sides = [parts(getComputedStyle(element).color).slice(0, 3), ground(element)].map(luminance);
    const ratio = (Math.max(...sides) + 0.05) / (Math.min(...sides) + 0.05);
    if (ratio < 4.5) poor.set(`${element.tagName}.${element.className}`, ratio.toFixed(2));
  }
  return [...poor.entries()].map(String);
})();
