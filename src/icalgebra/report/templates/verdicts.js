(() => {
  const says = document.getElementById("map-says");
  const tell = (event) => { const cell = event.target.closest(".map .cell"); if (cell) says.textContent = cell.title; };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, tell);

  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll(".ledger tbody tr")];
  const meets = (row, asked) => {
    const verdicts = [...row.querySelectorAll("[data-model]")].filter((item) => item.dataset.model === asked.model);
    const classes = asked.model ? verdicts.map((item) => item.dataset.class) : [row.dataset.class];
    return (!asked.section || row.dataset.section === asked.section) &&
      (asked.class ? classes.includes(asked.class) : classes.length);
  };
  const filter = () => {
    const asked = Object.fromEntries(["class", "section", "model"].map((name) => [name, form.elements[name].value]));
    for (const row of rows) row.hidden = !meets(row, asked);
    document.getElementById("n-shown").textContent = rows.filter((row) => !row.hidden).length;
  };
  const reset = () => { form.reset(); filter(); };
  form.hidden = false;
  form.addEventListener("change", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  /* A link to a claim that the filter hides shows the whole table again; a section's link shows its claims. */
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    if (link.dataset.section) { form.reset(); form.elements.section.value = link.dataset.section; filter(); return; }
    const row = document.getElementById(link.getAttribute("href").slice("#".length));
    if (row && row.hidden) reset();
  });
})();
