// Puts the parts together inside the snapshot creator. The value of this file is a function that takes the parts, and
// returns what the host keeps for each context: a flat list of functions, in the order that `realm.rs` knows.
(function prelude(sealed, outside, lazy, makeSurvey, makeHarden, makeSealing) {
  'use strict';
  const survey = makeSurvey(lazy);
  if (!sealed) {
    const known = new WeakSet(survey.walk(survey.roots(), new Set()));
    const { harden, seal } = makeSealing(survey, known, () => undefined, undefined);
    return [harden, seal];
  }
  const { known, late, freeze, finish, shadowable } = makeHarden(survey, outside);
  const { harden, seal } = makeSealing(survey, known, late, shadowable);
  return [harden, seal, finish, freeze];
})
