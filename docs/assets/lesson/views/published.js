/* The published benchmark's bars, live. The picture, the table and the words need no script. */
(function (Lesson) {
  "use strict";

  Lesson.views = Lesson.views || {};
  Lesson.views["published-benchmark"] = function mount(root, data, page) {
    Lesson.charts.attach(root.querySelector(".chart"), data.figure, page.labels);
  };
})((globalThis.Lesson = globalThis.Lesson || {}));
