// Draws the curves of a report. All of them share one window of time: what zooms one zooms all.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const octets = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const singles = (text) => Array.from(new Float32Array(octets(text)), (v) => (Number.isNaN(v) ? null : v));
  const doubles = (text) => Array.from(new Float64Array(octets(text)));
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const palette = (index) => css(`--c${index % 6}`);
  const dashes = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
  const onPaper = () => document.documentElement.classList.contains("paper");
  // A print may be grey: there colours become dashes, or widths where dashes mean something already.
  const printed = [[], [7, 3], [2, 2], [9, 3, 2, 3], [14, 4], [6, 2, 1, 2, 1, 2]];
  const stroke = (one, all) => {
    const width = one.width || 1, dash = one.dash || 0;
    if (!onPaper()) return { width, dash: dashes[dash] };
    if (all.some((each) => each.dash)) return { width: width + 0.9 * (one.color % 6), dash: dashes[dash] };
    return { width, dash: printed[one.color % 6] };
  };
  /** The marks of a legend as lines, as they are drawn. */
  const marks = (chart, lines) => {
    chart.root.querySelectorAll(".u-series").forEach((row, index) => {
      const mark = row.querySelector(".u-marker"), one = lines[index - 1];
      if (!mark || !one) return;
      const { width, dash } = stroke(one, lines);
      mark.style.cssText = "border: 0; width: 34px; height: 8px; background: none";
      mark.innerHTML = `<svg width="34" height="8"><line x1="0" y1="4" x2="34" y2="4" stroke="${palette(one.color)}" stroke-width="${width}" stroke-dasharray="${dash.join(" ")}"/></svg>`;
    });
  };
  const whole = [0, data.end];
  let shown = whole.slice();
  let charts = [];

  const unitOf = (span) => (span >= 0.5 ? [1, "s"] : span >= 5e-4 ? [1e-3, "ms"] : [1e-6, "us"]);
  // How many decimals a step needs: 0.25 needs two.
  const digits = (step) => {
    for (let count = 0; count < 9; count++) if (Math.abs(step * 10 ** count - Math.round(step * 10 ** count)) < 1e-6 * step * 10 ** count) return count;
    return 9;
  };
  const fixed = (value, step) => value.toLocaleString("en", { minimumFractionDigits: digits(step), maximumFractionDigits: digits(step) });
  const timeWords = (seconds, span) => {
    const [scale, unit] = unitOf(span);
    return `${fixed(seconds / scale, 10 ** Math.floor(Math.log10(span / scale / 500)))} ${unit}`;
  };
  const number = (value) => (value === null || value === undefined ? "-" : Number(value.toPrecision(5)).toLocaleString("en", { maximumFractionDigits: 6 }));

  const output = document.querySelector(".tools output");
  let setting = false;
  const show = (from, until) => {
    const least = data.end * 1e-6;
    let span = Math.min(Math.max(until - from, least), data.end);
    from = Math.min(Math.max(from, 0), data.end - span);
    shown = [from, from + span];
    setting = true;
    for (const chart of charts) chart.setScale("x", { min: shown[0], max: shown[1] });
    setting = false;
    if (output) output.textContent = `${timeWords(shown[0], span)} to ${timeWords(shown[1], span)}`;
    document.documentElement.dataset.window = shown.join(" ");
  };
  const zoom = (factor, at = (shown[0] + shown[1]) / 2) => show(at - (at - shown[0]) * factor, at + (shown[1] - at) * factor);
  const pan = (share) => { const d = share * (shown[1] - shown[0]); show(shown[0] + d, shown[1] + d); };

  const bands = (u, spec) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = css("--shade");
    for (const [from, until] of spec.bands) {
      const a = u.valToPos(from, "x", true), b = u.valToPos(until, "x", true);
      ctx.fillRect(a, bbox.top, b - a, bbox.height);
    }
    ctx.restore();
  };
  const levels = (u, spec) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px sans-serif`;
    ctx.textAlign = "right";
    for (const level of spec.levels) {
      const y = u.valToPos(level.at, "y", true);
      if (y < bbox.top || y > bbox.top + bbox.height) continue;
      ctx.strokeStyle = ctx.fillStyle = css("--ink");
      ctx.setLineDash([5 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.lineWidth = devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.fillText(level.label, bbox.left + bbox.width - 4 * devicePixelRatio, y - 4 * devicePixelRatio);
    }
    ctx.restore();
  };
  const stops = (u, spec) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const tall = bbox.height / spec.rows.length;
    spec.rows.forEach((row, index) => {
      const y = bbox.top + tall * (index + 0.2);
      for (const part of row.parts) {
        ctx.fillStyle = palette(part.color);
        for (let i = 0; i < part.from.length; i++) {
          if (part.until[i] < shown[0] || part.from[i] > shown[1]) continue;
          const a = u.valToPos(part.from[i], "x", true), b = u.valToPos(part.until[i], "x", true);
          ctx.fillRect(a, y, Math.max(b - a, 0.75), tall * 0.6);
        }
      }
    });
    ctx.restore();
  };

  const pointer = (u) => {
    const over = u.over;
    over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.8 : 1.25, u.posToVal(event.offsetX, "x"));
    }, { passive: false });
    over.addEventListener("mousedown", (event) => {
      if (!event.shiftKey) return;
      event.stopImmediatePropagation();
      const from = shown.slice(), start = event.clientX, wide = over.clientWidth;
      const move = (e) => { const d = ((start - e.clientX) / wide) * (from[1] - from[0]); show(from[0] + d, from[1] + d); };
      const up = () => { removeEventListener("mousemove", move); removeEventListener("mouseup", up); };
      addEventListener("mousemove", move);
      addEventListener("mouseup", up);
    }, true);
    over.addEventListener("dblclick", (event) => { event.stopImmediatePropagation(); show(...whole); }, true);
  };

  const make = (spec, place) => {
    const ink = css("--ink"), grid = { stroke: css("--line"), width: 1 };
    const rows = spec.kind === "pauses";
    const x = {
      stroke: ink, grid, ticks: grid, space: 70,
      label: () => `time (${unitOf(shown[1] - shown[0])[1]})`, labelSize: 20, size: 34, labelFont: "12px sans-serif", font: "11px sans-serif",
      values: (u, ticks, axis, space, step) => { const [scale] = unitOf(shown[1] - shown[0]); return ticks.map((t) => fixed(t / scale, step / scale)); },
    };
    const narrow = place.clientWidth < 520;
    const longest = rows ? Math.max(...spec.rows.map((row) => row.label.length)) : 0;
    const decades = (u, ticks) => ticks.map((t) => (Math.abs(Math.log10(t) - Math.round(Math.log10(t))) < 1e-9 ? t : null));
    const own = spec.log ? { ...grid, filter: decades } : grid;
    const y = {
      stroke: ink, grid: rows ? { show: false } : own, ticks: own, size: rows ? Math.min(longest * 7 + 22, place.clientWidth * 0.4) : 62,
      label: rows ? undefined : spec.unit, labelSize: 20, labelFont: "12px sans-serif", font: "11px sans-serif",
    };
    if (rows) {
      y.splits = () => spec.rows.map((_, index) => spec.rows.length - index - 0.5);
      y.values = () => spec.rows.map((row) => row.label);
    } else {
      y.values = (u, ticks, axis, space, step) => ticks.map((t) => (t === null ? "" : spec.log ? (Math.abs(Math.log10(t) % 1) < 1e-9 ? Number(t.toPrecision(3)) : "") : fixed(t, step || 1)));
    }
    const series = [{ label: "time", value: (u, v) => (v === null || v === undefined ? "-" : timeWords(v, shown[1] - shown[0])) }];
    for (const one of spec.series || []) {
      series.push({
        label: one.label, stroke: palette(one.color), width: stroke(one, spec.series).width,
        dash: stroke(one, spec.series).dash.map((d) => d * devicePixelRatio),
        points: { show: false }, spanGaps: true, value: (u, v) => (v === null ? "-" : `${number(v)}${spec.short ? " " + spec.short : ""}`),
        paths: spec.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      });
    }
    if (rows) series.push({ show: false, points: { show: false } });
    const high = spec.top;
    const options = {
      width: place.clientWidth, height: rows ? 70 + 20 * spec.rows.length : narrow ? 210 : 240,
      legend: { show: !rows, live: true },
      cursor: { sync: { key: "time", scales: ["x", null] }, drag: { x: true, y: false, setScale: true }, points: { show: !rows }, y: !rows },
      scales: {
        x: { time: false, range: (u, a, b) => [a, b] },
        y: rows ? { range: [0, spec.rows.length] } : spec.log ? { distr: 3, range: () => spec.range } : { range: () => [0, high] },
      },
      axes: [x, y],
      series,
      hooks: {
        drawClear: [(u) => bands(u, spec)],
        draw: [(u) => { if (spec.levels) levels(u, spec); if (rows) stops(u, spec); }],
        ready: [pointer],
        setScale: [(u, key) => { if (key === "x" && !setting) show(u.scales.x.min, u.scales.x.max); }],
      },
    };
    const chart = new uPlot(options, spec.table, place);
    if (!rows) marks(chart, spec.series);
    place.tabIndex = 0;
    return chart;
  };

  for (const spec of data.charts) {
    if (spec.kind === "pauses") {
      spec.table = [whole, [null, null]];
      for (const row of spec.rows) for (const part of row.parts) { part.from = doubles(part.from); part.until = doubles(part.until); }
    } else {
      spec.table = [doubles(spec.x), ...spec.y.map(singles)];
    }
  }
  const draw = () => {
    const keep = shown.slice();
    for (const chart of charts) chart.destroy();
    setting = true;
    charts = data.charts.map((spec) => make(spec, document.querySelector(`#${spec.id} .plot`)));
    setting = false;
    show(...keep);
  };

  const keys = { ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => show(...whole) };
  for (const place of document.querySelectorAll(".plot"))
    place.addEventListener("keydown", (event) => { if (keys[event.key] && !event.ctrlKey && !event.metaKey) { event.preventDefault(); keys[event.key](); } });
  const verbs = { in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.25), right: () => pan(0.25), all: () => show(...whole) };
  for (const button of document.querySelectorAll(".tools button")) button.addEventListener("click", verbs[button.dataset.do]);

  const words = (share) => `${(100 * share).toFixed(share && share < 0.1 ? 1 : 0)} %`;
  for (const spec of data.trees) {
    const place = document.getElementById(spec.id);
    const slider = place.querySelector("input"), said = place.querySelector("output"), play = place.querySelector("button");
    const paint = () => {
      const at = Number(slider.value);
      const total = at < 0;
      said.textContent = total ? "the whole run" : `${timeWords(at * spec.bin, spec.bin)} to ${timeWords(Math.min((at + 1) * spec.bin, data.end), spec.bin)}`;
      place.querySelectorAll("path[data-edge]").forEach((path) => {
        const edge = spec.edges[Number(path.dataset.edge)];
        const share = total ? edge.total : edge.shares[at];
        path.style.strokeWidth = share > 0 ? 1 + 4 * share : 0.6;
        path.style.opacity = share > 0 ? 0.35 + 0.65 * share : 0.12;
      });
      place.querySelectorAll("text[data-edge]").forEach((text) => {
        const edge = spec.edges[Number(text.dataset.edge)];
        const share = total ? edge.total : edge.shares[at];
        text.textContent = share > 0 ? words(share) : "";
      });
    };
    slider.addEventListener("input", paint);
    let timer = 0;
    play.addEventListener("click", () => {
      if (timer) { clearInterval(timer); timer = 0; play.textContent = "Play"; return; }
      play.textContent = "Stop";
      timer = setInterval(() => { slider.value = Number(slider.value) >= Number(slider.max) ? -1 : Number(slider.value) + 1; paint(); }, 250);
    });
    paint();
  }

  let wait = 0;
  addEventListener("resize", () => { clearTimeout(wait); wait = setTimeout(draw, 120); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  // On paper curves are dark on white, whatever the screen has.
  addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); draw(); });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); draw(); });
  draw();
})();
