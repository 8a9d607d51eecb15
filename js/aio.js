(function makeAio() {
  'use strict';
  let ops;
  const sleep = (ms, value) => new Promise((resolve) => ops.timer(ms, () => resolve(value)));
  const aio = Object.freeze({ sleep: Object.freeze(sleep) });
  return { aio, install: (given) => { ops = given; }, mutable: [] };
})
