// Looks at each page in its frame, once all are laid out, and writes what it saw into
// the document as JSON: see browser_test.go.
"use strict";

// luminance and contrast are WCAG's.
function luminance(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map((v) => {
    v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

// ground is the colour behind an element.
function ground(view, element) {
  for (; element; element = element.parentElement) {
    const colour = view.getComputedStyle(element).backgroundColor;
    if (!colour.startsWith("rgba(0, 0, 0, 0")) return colour;
  }
  return "rgb(255, 255, 255)";
}

// smallest are the CSS pixels of letters that can still be read.
const smallest = 8;

// drawn is the size of a text's letters on the screen.
function drawn(view, text, svg) {
  const scale = svg.viewBox.baseVal.width ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
  return parseFloat(view.getComputedStyle(text).fontSize) * scale;
}

// cut tells whether a text leaves its picture: along the line by more than rounding,
// across it by more than a font has above its letters; or comes as close to the edge of
// one with a margin.
function cut(text, picture, margin) {
  const slack = 0.3 * Math.min(text.width, text.height) - margin;
  const [x, y] = text.width > text.height ? [1 - margin, slack] : [slack, 1 - margin];
  return text.left < picture.left - x || text.right > picture.right + x || text.top < picture.top - y || text.bottom > picture.bottom + y;
}

function look(frame) {
  const doc = frame.contentDocument, view = frame.contentWindow, root = doc.documentElement;
  const width = root.clientWidth, faults = [];
  const name = (e) => `${e.tagName} ${e.textContent.trim().slice(0, 40)}`;
  if (root.scrollWidth > width) faults.push(`the page sticks out: ${root.scrollWidth} of ${width} pixels`);
  for (const e of doc.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    if (!e.closest("svg, .scroll > *") && box.right > width + 1) faults.push(`${name(e)} sticks out to ${box.right}`);
    if (e.tagName === "IMG" && !e.naturalWidth) faults.push("an image is not there");
  }
  for (const e of doc.querySelectorAll("p, dt, dd, td, th, figcaption, li, h1, h2, code")) {
    const c = contrast(view.getComputedStyle(e).color, ground(view, e));
    if (c < 4.5) faults.push(`${name(e)}: contrast ${c.toFixed(1)}`);
  }
  const pictures = [...doc.querySelectorAll("svg")].filter((svg) => {
    const box = svg.getBoundingClientRect();
    return box.width >= 20 && box.height >= 5;
  });
  for (const svg of pictures) {
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (cut(box, svg.getBoundingClientRect(), svg.dataset.margin | 0)) faults.push(`${name(text)} is cut off`);
      const size = drawn(view, text, svg);
      if (size < smallest) faults.push(`${name(text)}: letters of ${size.toFixed(1)} pixels`);
      const c = contrast(view.getComputedStyle(text).fill, ground(view, svg));
      if (c < 4.5) faults.push(`${name(text)}: contrast ${c.toFixed(1)}`);
    }
  }
  return {
    Page: frame.dataset.page, Width: frame.width | 0, Dark: luminance(ground(view, doc.body)) < 0.2,
    Pictures: pictures.length, Faults: faults,
  };
}

addEventListener("load", () => {
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(look));
  document.body.replaceChildren(result);
});
