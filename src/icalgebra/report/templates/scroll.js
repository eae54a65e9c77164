/* Boxes that are wider than the window say so, and can then be reached with the keyboard. */
(() => {
  const mark = (box) => {
    const rest = box.scrollWidth - box.clientWidth;
    box.classList.toggle("overflows", rest > 1);
    box.classList.toggle("at-end", box.scrollLeft >= rest - 1);
    if (rest > 1) box.tabIndex = 0;
  };
  const resized = new ResizeObserver((found) => found.forEach((entry) => mark(entry.target)));
  for (const box of document.querySelectorAll(".scroll")) {
    resized.observe(box);
    box.addEventListener("scroll", () => mark(box), { passive: true });
  }
})();
