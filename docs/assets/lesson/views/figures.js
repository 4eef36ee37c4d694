/* The live charts of every view without a script of its own; the picture, the table and the words need none. */
(function (Lesson) {
  "use strict";

  Lesson.views = Lesson.views || {};
  Lesson.views.figures = function mount(root, data, page) {
    for (const chart of root.querySelectorAll(".chart")) {
      Lesson.charts.attach(chart, data.figures[chart.dataset.chart], page.labels);
    }
  };
})((globalThis.Lesson = globalThis.Lesson || {}));
