// overlaps runs in the page: pairs of texts of one drawing that share more
// than a sliver.
export function overlaps() {
  const found = [];
  for (const svg of document.querySelectorAll('.panel svg')) {
    const texts = [...svg.querySelectorAll('text')].map((t) => ({ text: t.textContent, box: t.getBoundingClientRect() }));
    for (let i = 0; i < texts.length; i++) {
      for (let k = i + 1; k < texts.length; k++) {
        const [a, b] = [texts[i].box, texts[k].box];
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (width > 1 && height > 0.3 * Math.min(a.height, b.height)) found.push(`${svg.querySelector('title').textContent}: ${texts[i].text} | ${texts[k].text}`);
      }
    }
  }
  return found;
}
