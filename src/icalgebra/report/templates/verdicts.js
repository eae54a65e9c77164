(() => {
  const says = document.getElementById("map-says");
  const tell = (event) => { const cell = event.target.closest(".map .cell"); if (cell) says.textContent = cell.title; };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, tell);

  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll(".ledger tr.claim")];
  const ofModel = (row, model) => [...row.querySelectorAll("[data-model]")].filter((item) => item.dataset.model === model);
  const meets = (row, asked) => {
    const classes = asked.model ? ofModel(row, asked.model).map((item) => item.dataset.class) : [row.dataset.class];
    return (!asked.section || row.dataset.section === asked.section) &&
      (asked.class ? classes.includes(asked.class) : classes.length);
  };
  /* A row whose verdict about the model asked for is folded opens, and closes again when another is asked for. */
  const unfold = (row, asked) => {
    const folded = row.querySelector("details");
    const inside = asked.model && !row.hidden && ofModel(row, asked.model).some((item) => folded.contains(item));
    if (inside && !folded.open) folded.dataset.byFilter = "yes";
    if (inside || folded.dataset.byFilter) folded.open = Boolean(inside);
    if (!inside) delete folded.dataset.byFilter;
  };
  /* A heading goes with the last of its rows; a section's notes and its name go with the section. */
  const hideHeadings = () => {
    for (const head of document.querySelectorAll(".ledger tr.group")) {
      let row = head.nextElementSibling, shown = false;
      for (; row && row.matches(".claim"); row = row.nextElementSibling) shown ||= !row.hidden;
      head.hidden = !shown;
    }
    for (const part of document.querySelectorAll(".ledger tbody"))
      part.hidden = ![...part.querySelectorAll(".claim")].some((row) => !row.hidden);
  };
  const filter = () => {
    const asked = Object.fromEntries(["class", "section", "model"].map((name) => [name, form.elements[name].value]));
    for (const row of rows) { row.hidden = !meets(row, asked); unfold(row, asked); }
    hideHeadings();
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
